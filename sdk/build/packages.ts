import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type InlineConfig } from 'vite';

const SDK = join(import.meta.dirname, '..');
const run = promisify(execFile);

/** By file of dist/. */
const BROWSER_ENTRIES = {
  index: 'src/index.ts',
  onsite: 'src/onsite/onsite.ts',
  inbox: 'src/inbox/inbox.ts',
  'web-push': 'src/web-push/web-push.ts',
  segment: 'src/segment/segment.ts',
};

/** Builds dist/ of both packages: ES modules with source maps, declarations, and the scripts. */
export async function buildPackages(hostFolder: string): Promise<void> {
  await rm(join(SDK, 'browser/dist'), { recursive: true, force: true });
  await rm(join(SDK, 'node/dist'), { recursive: true, force: true });
  await build(config('browser', BROWSER_ENTRIES));
  await build({
    ...config('node', { index: 'src/index.ts', schema: 'src/schema/main.ts' }),
    ssr: { noExternal: true, target: 'node' },
  });
  for (const [from, to] of [
    ['v1.js', 'ravand.js'],
    ['worker.js', 'ravand-worker.js'],
  ] as const)
    await writeFile(join(SDK, 'browser/dist', to), await readFile(join(hostFolder, from)));
  await declarations('browser');
  await declarations('node');
}

function config(name: 'browser' | 'node', entry: Record<string, string>): InlineConfig {
  const root = join(SDK, name);
  const paths = Object.entries(entry).map(([file, path]) => [file, join(root, path)]);
  return {
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      target: name === 'browser' ? 'es2022' : 'node20',
      outDir: 'dist',
      emptyOutDir: false,
      minify: false,
      sourcemap: true,
      ...(name === 'node' && { ssr: true }),
      lib: { entry: Object.fromEntries(paths) as Record<string, string>, formats: ['es'] },
      rolldownOptions: { output: { chunkFileNames: '[name].js', entryFileNames: '[name].js' } },
    },
  };
}

/** Declarations of what is published, with the extensions of the files that are there. */
async function declarations(name: 'browser' | 'node'): Promise<void> {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const folder = join(SDK, name, 'dist/types');
  await run(process.execPath, [
    ...[compiler, '-p', join(SDK, name), '--noEmit', 'false', '--incremental', 'false'],
    ...['--emitDeclarationOnly', '--declaration', '--rootDir', SDK, '--outDir', folder],
  ]);
  for (const entry of await readdir(folder, { recursive: true })) {
    if (!entry.endsWith('.d.ts')) continue;
    const path = join(folder, entry);
    if (/\.test\.d\.ts$|testing/.test(entry)) {
      await rm(path);
      continue;
    }
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replaceAll(/(from '|import\(")(\.[^'"]*)\.ts(['"])/g, '$1$2.js$3'));
  }
}
