/**
 * Builds the SDKs: `node sdk/build.ts [--packages] [FOLDER]` writes what the ingest host serves
 * into the folder (default: SDK_DIR), unless it is there; with --packages also dist/ of both
 * packages.
 * Fails when a size budget is exceeded.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { HostFile } from './build/host-files.ts';
import { checkSizes } from './build/sizes.ts';

const SDK = import.meta.dirname;

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { packages: { type: 'boolean', default: false } },
  });
  const folder = positionals[0] ?? process.env['SDK_DIR'] ?? '';
  if (folder === '') throw new Error('usage: node sdk/build.ts [--packages] FOLDER');
  const source = await sourceHash();
  const files = (await builtFrom(folder, source)) ?? (await build(folder, source));
  for (const line of checkSizes(files)) process.stdout.write(`${line}\n`);
  if (values.packages) await (await import('./build/packages.ts')).buildPackages(folder);
}

/** The bundler is loaded only where there is something to build. */
async function build(folder: string, source: string): Promise<HostFile[]> {
  const { buildHostFiles } = await import('./build/host-files.ts');
  return buildHostFiles(folder, source);
}

/** Of everything that decides what is built. */
async function sourceHash(): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(SDK, { recursive: true });
  const sources = entries.filter((path) => /^(browser|shared|build).*\.(ts|json)$/.test(path));
  for (const path of sources.filter((one) => !/dist|test/.test(one)).sort())
    hash.update(path).update(await readFile(join(SDK, path)));
  return hash.digest('hex');
}

/** The files in the folder; undefined unless they were built from this source. */
async function builtFrom(folder: string, source: string): Promise<HostFile[] | undefined> {
  try {
    const text = await readFile(join(folder, 'manifest.json'), 'utf8');
    const manifest = JSON.parse(text) as { source: string; files: HostFile[] };
    return manifest.source === source ? manifest.files : undefined;
  } catch {
    return undefined;
  }
}

await main();
