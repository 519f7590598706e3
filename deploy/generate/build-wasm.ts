import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PAGES } from '../../ingest/wasm/scan-layout.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const COMPILER = fileURLToPath(import.meta.resolve('assemblyscript/bin/asc.js'));

/** A module in AssemblyScript. Paths are those in the checkout. */
interface WasmModule {
  source: string;
  /** Committed: whoever runs Ravand needs no compiler. */
  output: string;
  flags: readonly string[];
}

/** Fast code without an allocator and without checks that only arrays of AssemblyScript need. */
const FLAGS = ['--optimizeLevel', '3', '--shrinkLevel', '0', '--converge', '--noAssert'].concat([
  '--runtime',
  'stub',
  '--enable',
  'bulk-memory',
  '--pedantic',
]);
/** Memory of so many pages of 64 KiB, which never grows. */
const memory = (pages: number) => [
  ...['--initialMemory', String(pages)],
  ...['--maximumMemory', String(pages)],
];
/** That of a report, which threads share: up to 4 GiB, made by whoever uses the module. */
const SHARED_MEMORY = [
  ...['--importMemory', '--noExportMemory', '--sharedMemory', '--enable', 'threads'],
  ...['--initialMemory', '1', '--maximumMemory', '65536'],
];

export const WASM_MODULES: readonly WasmModule[] = [
  {
    source: 'ingest/wasm/scan-body.as.ts',
    output: 'ingest/wasm/scan-body.wasm',
    flags: [...FLAGS, '--enable', 'simd', ...memory(PAGES)],
  },
  {
    source: 'account-api/reports/many-events/wasm/count-events.as.ts',
    output: 'account-api/reports/many-events/wasm/count-events.wasm',
    flags: [...FLAGS, ...SHARED_MEMORY],
  },
];

/**
 * The same source gives the same bytes. The compiler is a process of its own: its types would
 * change those of arrays everywhere. @throws Error with what it found, warnings included
 */
export function buildWasm({ source, flags }: WasmModule): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-wasm-'));
  try {
    const outFile = join(folder, 'built.wasm');
    const options = [COMPILER, source, '--outFile', outFile, ...flags];
    const { stderr, stdout, status } = spawnSync(process.execPath, options, {
      ...{ cwd: CHECKOUT, encoding: 'utf8' },
    });
    if (status !== 0 || stderr !== '')
      throw new Error(`${source} does not compile: ${stderr}${stdout}`);
    return readFileSync(outFile);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
