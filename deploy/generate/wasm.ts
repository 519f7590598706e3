import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildWasm, WASM_MODULES } from './build-wasm.ts';

/** Compiles what is written in AssemblyScript. */
for (const module of WASM_MODULES)
  writeFileSync(join(import.meta.dirname, '../..', module.output), buildWasm(module));
