import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildWasm, WASM_MODULES } from './build-wasm.ts';

const checkout = join(import.meta.dirname, '../..');

it.each(WASM_MODULES)('$output is compiled from its source', (module) => {
  const isSame = readFileSync(join(checkout, module.output)).equals(buildWasm(module));
  expect(isSame, 'run: node deploy/generate/wasm.ts').toBe(true);
});

it('the scan of a body imports nothing, and its memory does not grow', () => {
  const wasm = new WebAssembly.Module(readFileSync(join(checkout, 'ingest/wasm/scan-body.wasm')));
  expect(WebAssembly.Module.imports(wasm)).toEqual([]);
  const { exports } = new WebAssembly.Instance(wasm);
  expect(() => (exports as { memory: WebAssembly.Memory }).memory.grow(1)).toThrow(RangeError);
});

it('a source that does not compile is reported with what the compiler says', () => {
  const missing = { source: 'ingest/wasm/missing.as.ts', output: '', flags: [] };
  expect(() => buildWasm(missing)).toThrow(/missing\.as\.ts' not found/);
});
