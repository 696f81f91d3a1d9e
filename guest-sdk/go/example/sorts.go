//go:build wasip1

// Sorting keeps every number. Almost: equal ones are lost.
package main

import (
	"fuzzbox"
	"slices"
)

func sorted(numbers []int64) []int64 {
	numbers = slices.Clone(numbers)
	slices.Sort(numbers)
	// The planted bug.
	return slices.Compact(numbers)
}

//go:wasmexport fbx_sorts
func sorts() {
	numbers := fuzzbox.List(0, 64, func() int64 { return fuzzbox.Int(-100, 100) })
	fuzzbox.Note("%v", numbers)
	if len(sorted(numbers)) != len(numbers) {
		fuzzbox.Fail("a number is lost")
	}
}

func main() {}
