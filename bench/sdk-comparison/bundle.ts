import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import type { Candidate } from './candidates.ts';

/** Packages are installed here when a comparison runs: nothing else needs them. */
const FOLDER = join(import.meta.dirname, '../../.ravand/cache/sdk-comparison');
const run = promisify(execFile);

/** What a page loads of an SDK. */
export interface Bundle {
  /** By path: the code. */
  files: Map<string, string>;
  /** The path of the first of them. */
  entry: string;
  /** Of the files that a page loads before the first call: bytes, and after gzip. */
  bytes: number;
  gzip: number;
}

/** Installs the packages of these versions from npm, without their scripts. */
export async function install(candidates: readonly Candidate[]): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), '{"private":true,"type":"module"}');
  const packages = candidates.flatMap((one) => one.package ?? []);
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save'];
  await run('npm', ['install', ...options, ...packages], { cwd: FOLDER });
}

/** The smallest import that makes a call, as a bundler makes it for production. */
export async function bundle({ name, code }: Candidate, api: string): Promise<Bundle> {
  const source = join(FOLDER, `${name}.js`);
  await writeFile(source, `const API = ${JSON.stringify(api)};\n${code}`);
  const { output } = (await build({
    root: FOLDER,
    configFile: false,
    logLevel: 'error',
    build: {
      ...{ write: false, target: 'es2022', modulePreload: false },
      rolldownOptions: { input: source },
    },
  })) as Rolldown.RolldownOutput;
  const chunks = output.filter((one) => one.type === 'chunk');
  const first = chunks.find(({ isEntry }) => isEntry);
  if (!first) throw new Error(`${name} made no file`);
  const needed = new Set([first.fileName]);
  for (const path of needed)
    for (const other of chunks.find(({ fileName }) => fileName === path)?.imports ?? [])
      needed.add(other);
  const loaded = chunks.filter(({ fileName }) => needed.has(fileName));
  const sum = (size: (chunk: string) => number) =>
    loaded.reduce((total, chunk) => total + size(chunk.code), 0);
  return {
    files: new Map(chunks.map((chunk) => [`/${chunk.fileName}`, chunk.code])),
    entry: `/${first.fileName}`,
    bytes: sum((text) => Buffer.byteLength(text)),
    gzip: sum((text) => gzipSync(text, { level: 9 }).length),
  };
}
