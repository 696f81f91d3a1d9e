// Executes each input of a JSON list of byte arrays on an instance of its own: `node run.js MODULE.js INPUTS.json`.
// Prints a JSON list of [how it ended, what was printed].
const script = require('path').resolve(process.argv[2]);
const factory = require(script);
const wasmBinary = require('fs').readFileSync(script.replace(/js$/, 'wasm'));
const inputs = JSON.parse(require('fs').readFileSync(process.argv[3]));
(async () => {
  const ended = [];
  for (const input of inputs) {
    const lines = [];
    const module = await factory({ wasmBinary, print: line => lines.push(line), printErr: () => {} });
    const at = module._malloc(input.length + 1);
    module.HEAPU8.set(input, at);
    let how;
    try {
      module._run(at, input.length);
      how = 'ok';
    } catch (error) {
      how = 'failed';
    }
    ended.push([how, lines.join('\n')]);
  }
  console.log(JSON.stringify(ended));
  process.exit(0);
})();
