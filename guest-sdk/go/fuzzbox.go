//go:build wasip1

// Package fuzzbox is for properties in Go: the imports of fuzzbox_v1, and what makes them pleasant.
//
//	//go:wasmexport fbx_sorted
//	func sorted() {
//		n := fuzzbox.Int(0, 100)
//		...
//		if wrong {
//			fuzzbox.Fail("not sorted") // or any panic
//		}
//	}
//
// Built with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared. What the index of a draw means is said in
// guest-sdk/c/fuzzbox.h and, in full, in guest-sdk/src/index.rs.
package fuzzbox

import (
	"fmt"
	"math"
	"unsafe"
)

//go:wasmimport fuzzbox_v1 draw_int
func drawInt(lo, hi, towards int64) int64

//go:wasmimport fuzzbox_v1 draw_uint
func drawUint(lo, hi, towards uint64) uint64

//go:wasmimport fuzzbox_v1 draw_bool
func drawBool(pTrue uint32) uint32

//go:wasmimport fuzzbox_v1 draw_choice
func drawChoice(n uint32, weights unsafe.Pointer) uint32

//go:wasmimport fuzzbox_v1 draw_f64
func drawF64(lo, hi float64, flags uint32) float64

//go:wasmimport fuzzbox_v1 draw_bytes
func drawBytes(to unsafe.Pointer, min, max uint32) uint32

//go:wasmimport fuzzbox_v1 draw_str
func drawStr(to unsafe.Pointer, room, min, max uint32, alphabet unsafe.Pointer, ranges uint32) uint32

//go:wasmimport fuzzbox_v1 draw_more
func drawMore(min, max, averageQ8 uint32) uint32

//go:wasmimport fuzzbox_v1 draw_payload
func drawPayload(bits uint32) uint64

//go:wasmimport fuzzbox_v1 span_begin
func spanBegin(label uint32)

//go:wasmimport fuzzbox_v1 span_end
func spanEnd(flags uint32)

//go:wasmimport fuzzbox_v1 assume
func assume(condition uint32)

//go:wasmimport fuzzbox_v1 reject
func reject(why string)

//go:wasmimport fuzzbox_v1 fail
func fail(class string)

//go:wasmimport fuzzbox_v1 target
func target(label string, score float64)

//go:wasmimport fuzzbox_v1 event
func event(label string, value int64)

//go:wasmimport fuzzbox_v1 keyframe
func keyframe(id uint32, arg int64)

//go:wasmimport fuzzbox_v1 name
func name(kind, id uint32, text string)

//go:wasmimport fuzzbox_v1 note
func note(text string)

//go:wasmimport fuzzbox_v1 value
func value(typeID int64, encoding uint32, bytes unsafe.Pointer, len uint32)

//go:wasmimport fuzzbox_v1 remaining
func remaining() uint32

//go:wasmimport fuzzbox_v1 feature
func feature(name string) uint32

// Int draws an integer, both bounds included; the simplest is the one nearest to 0.
func Int(lo, hi int64) int64 { return drawInt(lo, hi, 0) }

// IntTowards draws an integer with another simplest value.
func IntTowards(lo, hi, towards int64) int64 { return drawInt(lo, hi, towards) }

// Uint draws an integer without sign; the simplest is the least.
func Uint(lo, hi uint64) uint64 { return drawUint(lo, hi, 0) }

// Bool draws a boolean; false is simpler.
func Bool() bool { return drawBool(1<<31) != 0 }

// Chance is true with a probability in units of 2^-32; 0 and 2^32 - 1 leave no choice.
func Chance(pTrue uint32) bool { return drawBool(pTrue) != 0 }

// Choice draws one of n, the first the simplest.
func Choice(n int) int { return int(drawChoice(uint32(n), nil)) }

// Weighted draws one of at most 4096, as likely as their weights say.
func Weighted(weights []uint32) int {
	return int(drawChoice(uint32(len(weights)), unsafe.Pointer(unsafe.SliceData(weights))))
}

// Pick draws one of the items.
func Pick[T any](items []T) T { return items[Choice(len(items))] }

// What Float may give besides finite numbers.
const (
	NaN uint32 = 1 << iota
	Infinite
	NegativeZero
	Subnormal
)

// Float draws a number; integers are simpler than fractions.
func Float(lo, hi float64, flags uint32) float64 { return drawF64(lo, hi, flags) }

// Bytes draws a blob.
func Bytes(min, max int) []byte {
	bytes := make([]byte, max+1)
	return bytes[:drawBytes(unsafe.Pointer(&bytes[0]), uint32(min), uint32(max))]
}

// String draws a string of min to max characters. The alphabet is ranges, each a first and a last character; none is all of Unicode.
func String(min, max int, alphabet ...[2]rune) string {
	bytes := make([]byte, 4*max+1)
	ranges := unsafe.Pointer(unsafe.SliceData(alphabet))
	if len(alphabet) == 0 {
		ranges = nil
	}
	written := drawStr(unsafe.Pointer(&bytes[0]), uint32(4*max), uint32(min), uint32(max), ranges, uint32(len(alphabet)))
	return string(bytes[:written])
}

// More says whether a collection in the innermost span goes on.
func More(min, max int) bool {
	usual := math.Max(2*float64(min), float64(min)+5)
	average := math.Min(usual, (float64(min)+float64(max))/2)
	return drawMore(uint32(min), uint32(max), uint32(math.Min(average*256, math.MaxInt32))) != 0
}

// Payload draws 1 to 64 bits that must not influence control flow.
func Payload(bits int) uint64 { return drawPayload(uint32(bits)) }

// List draws a list, each element by a function.
func List[T any](min, max int, element func() T) []T {
	var list []T
	Span("list", func() {
		for More(min, max) {
			Span("element", func() { list = append(list, element()) })
		}
	})
	return list
}

// Label is the label of a name: 32-bit FNV-1a.
func Label(name string) uint32 {
	hash := uint32(0x811c9dc5)
	for _, char := range []byte(name) {
		hash = (hash ^ uint32(char)) * 0x01000193
	}
	return hash
}

// Span groups draws that belong together.
func Span(kind string, draws func()) {
	spanBegin(Label(kind))
	draws()
	spanEnd(0)
}

// Assume ends the execution if the condition does not hold: it is no case of this property.
func Assume(condition bool) {
	if !condition {
		assume(0)
	}
}

// Reject ends the execution: it is no case of this property.
func Reject(why string) { reject(why) }

// Fail ends the execution as a failure.
func Fail(class string) { fail(class) }

// Target tells a number that the search should make large.
func Target(label string, score float64) { target(label, score) }

// Event tells that something happened that code coverage doesn't see.
func Event(label string, number int64) { event(label, number) }

// Keyframe tells that a predicate of a trace has become true.
func Keyframe(id uint32, arg int64) { keyframe(id, arg) }

// Name names a label (kind 0) or a key frame (kind 1).
func Name(kind, id uint32, text string) { name(kind, id, text) }

// Note is a line for the report.
func Note(format string, arguments ...any) {
	if Feature("fuzzbox:report") {
		note(fmt.Sprintf(format, arguments...))
	}
}

// Value gives a value away, encoded.
func Value(typeID int64, encoding uint32, bytes []byte) {
	value(typeID, encoding, unsafe.Pointer(unsafe.SliceData(bytes)), uint32(len(bytes)))
}

// Remaining is how many draws are still given or random.
func Remaining() int { return int(remaining()) }

// Feature says whether a feature takes part.
func Feature(name string) bool { return feature(name) != 0 }
