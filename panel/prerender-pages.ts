import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { grants } from '../platform/permissions.ts';
import type { Prerendered } from './prerendered.ts';

/** Builds the panel for Node into a folder, renders its pages, and removes the folder. */
export async function prerenderPages(folder: string): Promise<Record<'fa' | 'en', Prerendered>> {
  try {
    await build({
      configFile: join(import.meta.dirname, 'vite.config.ts'),
      build: {
        ssr: join(import.meta.dirname, 'src/app/prerender.tsx'),
        outDir: folder,
        manifest: false,
        minify: false,
        copyPublicDir: false,
        rolldownOptions: { output: { codeSplitting: false } },
      },
      ssr: { noExternal: true },
      logLevel: 'warn',
    });
    const file = pathToFileURL(join(folder, 'prerender.js')).href;
    const { prerender } = (await import(/* @vite-ignore */ file)) as {
      prerender: (language: 'fa' | 'en', of: typeof grants) => Promise<Prerendered>;
    };
    // One after the other: the language of a rendering is one for the whole module.
    const fa = await prerender('fa', grants);
    return { fa, en: await prerender('en', grants) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
