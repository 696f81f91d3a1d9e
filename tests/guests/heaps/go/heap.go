// Notes what the input holds, takes memory and fills it, and looks at the input again.
package main

import (
	"bytes"
	"unsafe"
)

var kept [][]byte
var behind byte

func check(data unsafe.Pointer, size int32) []byte {
	input := unsafe.Slice((*byte)(data), int(size))
	noted := bytes.Clone(input)
	length := 100
	if size > 0 {
		length = int(input[0]) << 14
	}
	kept = nil
	for range 3 {
		block := make([]byte, length)
		for i := range block {
			block[i] = 0xee
		}
		kept = append(kept, block)
	}
	if !bytes.Equal(noted, input) {
		panic("the input has changed")
	}
	return input
}

//go:wasmexport parse
func parse(data unsafe.Pointer, size int32) {
	check(data, size)
}

//go:wasmexport planted
func planted(data unsafe.Pointer, size int32) {
	input := check(data, size)
	if size > 1 && input[1] == 'x' {
		behind = *(*byte)(unsafe.Add(data, size))
	}
}

func main() {}
