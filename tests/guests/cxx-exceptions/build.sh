#!/bin/sh
# Makes legacy.wasm and current.wasm of exceptions.cc: with Emscripten 3.1.6, which is Debian 12's and knows legacy
# exceptions only, and wasm-opt 132 as in binaryen from npm, which translates in its own way.
set -eu
cd "$(dirname "$0")"
em++ -O2 -fwasm-exceptions -sSTANDALONE_WASM -sABORTING_MALLOC=0 exceptions.cc -o legacy.wasm
# Not `-all`: that would write the imports in a compact form that few engines read.
npx --yes --package=binaryen@132 wasm-opt --enable-exception-handling --enable-reference-types --enable-multivalue \
    --enable-bulk-memory --enable-bulk-memory-opt --enable-sign-ext --enable-nontrapping-float-to-int \
    --enable-mutable-globals --translate-to-exnref legacy.wasm -o current.wasm
chmod 644 legacy.wasm
