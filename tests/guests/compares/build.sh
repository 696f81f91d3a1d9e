#!/bin/sh
# Builds the guests, with clang 14 and lld 14 (Debian's packages), so that equal sources make equal modules.
set -eu
cd "$(dirname "$0")"
# Floats of 128 bits are compared by functions from there.
builtins=$(clang-14 --target=wasm32-wasi -print-libgcc-file-name)
for source in *.c; do
    clang-14 --target=wasm32 -O2 -nostdlib -ffreestanding -Wno-parentheses -Wl,--no-entry "$source" "$builtins" -o "${source%.c}.wasm"
done
