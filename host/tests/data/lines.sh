#!/bin/sh
# Builds lines.wasm, with DWARF whose paths are relative.
set -eu
cd "$(dirname "$0")"
clang-22 --target=wasm32-wasi --no-wasm-opt -Wno-deprecated -O1 -g -nostdlib \
    -ffile-prefix-map="$PWD"=. -fdebug-compilation-dir=. \
    -Wl,--no-entry -Wl,--export=LLVMFuzzerTestOneInput lines.c -o lines.wasm
