import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type InlineConfig, type Rolldown } from 'vite';

const BROWSER = join(import.meta.dirname, '../browser');
/** By name, of the files beside the core: /sdk/NAME.RELEASE.js. */
const ENTRIES = {
  onsite: 'src/onsite/onsite.ts',
  inbox: 'src/inbox/inbox.ts',
  'web-push': 'src/web-push/web-push.ts',
};
const HASH_DIGITS = 10;

/** A file that the ingest host serves, and the bytes that it is compressed to by gzip. */
export interface HostFile {
  name: string;
  gzip: number;
}

interface Bundle {
  code: string;
  map: string;
}

/**
 * Builds what the ingest host serves under /sdk/: the core (v1.js), the entries that it loads, by
 * their hash, and the service worker. Each file is there before manifest.json names it.
 */
export async function buildHostFiles(folder: string, source: string): Promise<HostFile[]> {
  const entries = await Promise.all(
    Object.entries(ENTRIES).map(async ([name, path]) => ({ name, ...(await bundle(path, 'es')) })),
  );
  const hash = createHash('sha256');
  for (const { code } of entries) hash.update(code);
  const release = hash.digest('hex').slice(0, HASH_DIGITS);
  const files = [
    { name: 'v1', ...(await bundle('src/script.ts', 'iife', { RAVAND_RELEASE: release })) },
    { name: 'worker', ...(await bundle('worker/worker.ts', 'iife')) },
    ...entries.map((entry) => ({ ...entry, name: `${entry.name}.${release}` })),
  ];
  await mkdir(folder, { recursive: true });
  for (const { name, code, map } of files) {
    await replace(join(folder, `${name}.js`), code);
    await replace(join(folder, `${name}.js.map`), map);
  }
  const manifest = files.map(({ name, code }) => ({
    name: `${name}.js`,
    gzip: gzipSync(code, { level: 9 }).length,
  }));
  const text = JSON.stringify({ source, release, files: manifest }, null, 2);
  await replace(join(folder, 'manifest.json'), `${text}\n`);
  return manifest;
}

async function bundle(
  entry: string,
  format: 'es' | 'iife',
  constants: Record<string, string> = {},
): Promise<Bundle> {
  const define = Object.fromEntries(
    Object.entries(constants).map(([name, value]) => [name, JSON.stringify(value)]),
  );
  const options: InlineConfig = {
    root: BROWSER,
    configFile: false,
    logLevel: 'warn',
    define,
    build: {
      write: false,
      target: 'es2022',
      // Named in a header: the comment would be a part of the file.
      sourcemap: 'hidden',
      lib: { entry, formats: [format], name: 'ravand', fileName: 'file' },
      rolldownOptions: {
        // For modules, too: their spaces and paths are not removed otherwise.
        output: { codeSplitting: false, minify: true },
        // Constants are shorter than names of them.
        optimization: { inlineConst: { mode: 'all', pass: 3 } },
      },
    },
  };
  const [result] = (await build(options)) as Rolldown.RolldownOutput[];
  const [chunk] = result?.output ?? [];
  if (!chunk) throw new Error(`${entry} made no file`);
  return { code: chunk.code, map: chunk.map?.toString() ?? '' };
}

/** A reader sees the old file or the new one. */
async function replace(path: string, content: string): Promise<void> {
  const beside = `${path}.${process.pid}`;
  await writeFile(beside, content);
  await rename(beside, path);
}
