import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { compressFiles } from './compress.ts';
import { documentsOf } from './documents.ts';

const CHECKOUT = join(import.meta.dirname, '..');
/** What the built files depend on. */
const SOURCES = [
  ...['panel/**/*.*', 'events/{jalali,tehran-time}.ts', 'platform/permissions.ts'],
  'package-lock.json',
];
const HASH_FILE = 'sources.sha256';

/**
 * Builds the panel into a folder unless it holds a build of the same sources. Readers of the folder
 * see the former build or the new one, never a part of it.
 */
export async function buildPanel(folder: string): Promise<'built' | 'unchanged'> {
  const sources = await hashSources();
  if ((await readOrNothing(join(folder, HASH_FILE))) === sources) return 'unchanged';
  const draft = `${resolve(folder)}.draft-${process.pid}`;
  await mkdir(dirname(folder), { recursive: true });
  try {
    // Vite leaves one that is set, and libraries are larger and slower in any other.
    process.env['NODE_ENV'] = 'production';
    // Only here: a start that finds the panel built does not wait for a bundler.
    const { build } = await import('vite');
    const { prerenderPages } = await import('./prerender-pages.ts');
    await build({
      configFile: join(import.meta.dirname, 'vite.config.ts'),
      build: { outDir: draft },
      logLevel: 'warn',
    });
    const documents = await documentsOf(draft, await prerenderPages(`${draft}.server`));
    for (const [language, parts] of Object.entries(documents))
      await writeFile(join(draft, `documents.${language}.json`), JSON.stringify(parts));
    await compressFiles(draft);
    await writeFile(join(draft, HASH_FILE), sources);
    await replaceFolder(folder, draft);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return 'built';
}

/** Another start may do the same at the same time: the last one wins. */
async function replaceFolder(folder: string, draft: string): Promise<void> {
  const former = `${draft}.former`;
  for (let tries = 0; ; tries++) {
    try {
      await rename(folder, former);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    try {
      await rename(draft, folder);
      break;
    } catch (error) {
      // It is there again.
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || tries === 10) throw error;
    } finally {
      await rm(former, { recursive: true, force: true });
    }
  }
}

async function hashSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const path of globSync(SOURCES, { cwd: CHECKOUT }).toSorted()) {
    hash.update(`${path}\0`);
    hash.update(await readFile(join(CHECKOUT, path)));
  }
  return hash.digest('hex');
}

async function readOrNothing(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}
