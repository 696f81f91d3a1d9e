#!/bin/sh
# Makes legacy.wasm and current.wasm of setjmp.c and runtime.c, with DWARF whose paths are relative.
set -eu
cd "$(dirname "$0")"
trap 'rm -f setjmp.o runtime.o' EXIT
for kind in legacy current; do
    legacy=$([ $kind = legacy ] && echo true || echo false)
    for part in setjmp runtime; do
        clang-22 --target=wasm32 -O1 -g -ffile-prefix-map="$PWD"=. -fdebug-compilation-dir=. -mexception-handling \
            -mllvm -wasm-enable-sjlj -mllvm -wasm-use-legacy-eh=$legacy -c $part.c -o $part.o
    done
    wasm-ld-22 --no-entry setjmp.o runtime.o -o $kind.wasm
done
