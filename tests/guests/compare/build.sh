#!/bin/sh
# Makes compare.wasm, and compare64.wasm with a memory of 64 bits, of compare.c.
set -eu
cd "$(dirname "$0")"
trap 'rm -f compare.o' EXIT
for bits in 32 64; do
    name=compare$([ $bits = 64 ] && echo 64 || true)
    # The loops have to stay loops: neither calls of the library that they are, nor unrolled.
    clang-22 --target=wasm$bits -O2 -ffreestanding -fno-builtin -fno-unroll-loops -c compare.c -o compare.o
    wasm-ld-22 -m wasm$bits --no-entry --strip-debug compare.o -o $name.wasm
done
