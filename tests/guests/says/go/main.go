// Panics with a message of its own.
package main

import "unsafe"

//go:noinline
func parse(data []byte) int {
	if len(data) > 2 && data[0] == 'a' {
		panic("an a: " + string(data[:1]))
	}
	return 0
}

//go:wasmexport LLVMFuzzerTestOneInput
func fuzz(data unsafe.Pointer, size int32) int32 {
	return int32(parse(unsafe.Slice((*byte)(data), int(size))))
}

func main() {}
