#!/bin/sh
# Builds table.wasm and table.wasm.map with the npm package assemblyscript 0.28; leaves the sources' text out of the map.
set -eu
cd "$(dirname "$0")"
asc table.ts -o table.wasm --debug --sourceMap -O0 --runtime stub --use abort=table/fail
node -e '
  const fs = require("fs"), file = "table.wasm.map", map = JSON.parse(fs.readFileSync(file));
  delete map.sourcesContent;
  fs.writeFileSync(file, JSON.stringify(map) + "\n");'
