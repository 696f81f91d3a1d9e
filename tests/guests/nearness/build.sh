#!/bin/sh
# Builds the guests, with clang 14 and lld 14 (Debian's packages), so that equal sources make equal modules. Their header
# is that of `compares`.
set -eu
cd "$(dirname "$0")"
for source in *.c; do
    clang-14 --target=wasm32 -O2 -nostdlib -ffreestanding -Wno-parentheses -Wl,--no-entry "$source" -o "${source%.c}.wasm"
done
