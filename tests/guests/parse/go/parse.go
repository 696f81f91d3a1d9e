package main

// Findings in Go have no lines, so this is not to be inlined.
//
//go:noinline
func parse(text []byte) {
	levels := make([][]byte, 0, 2)
	for at := 0; at < len(text) && text[at] == '['; at++ {
		// Room for two.
		levels = levels[:len(levels)+1]
		levels[at] = text[at:]
	}
}
