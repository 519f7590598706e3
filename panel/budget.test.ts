import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildPanel } from './build.ts';
import type { DocumentParts } from './documents.ts';
import { grants } from '../platform/permissions.ts';
import { PANEL_DIR as folder } from './folder.ts';
import { PAGES } from './pages.ts';

/** kB is 1,024 bytes, of JavaScript and compressed with gzip. */
const KB = 1024;
const SIGN_IN = 125;
const FIRST_REPORT = 200;
const OTHER_ROUTE = 40;

interface Chunk {
  file: string;
  imports?: string[];
  dynamicImports?: string[];
}

let parts: Record<'fa' | 'en', DocumentParts>;
let manifest: Record<string, Chunk>;
const sizes = new Map<string, number>();

// The folder of `./ravand up`, which has mostly built it already.
beforeAll(async () => {
  await buildPanel(folder);
  manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as typeof manifest;
  parts = { fa: await readParts('fa'), en: await readParts('en') };
  for (const name of await readdir(join(folder, 'assets')))
    if (name.endsWith('.js.gz'))
      sizes.set(
        `assets/${name.slice(0, -3)}`,
        (await readFile(join(folder, 'assets', name))).length,
      );
}, 120_000);

async function readParts(language: 'fa' | 'en'): Promise<DocumentParts> {
  const text = await readFile(join(folder, `documents.${language}.json`), 'utf8');
  return JSON.parse(text) as DocumentParts;
}

/** The files of chunks and of everything that they import. */
function filesOf(...names: readonly string[]): Set<string> {
  const files = new Set<string>();
  const queue = [...names];
  for (const name of queue) {
    const chunk = manifest[name];
    if (!chunk) throw new Error(`the build has no chunk ${name}`);
    if (files.has(chunk.file)) continue;
    files.add(chunk.file);
    queue.push(...(chunk.imports ?? []));
  }
  return files;
}

function kilobytes(files: Iterable<string>): number {
  return [...files].reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0) / KB;
}

/** What every page loads: the scripts of the document, the texts of the first page with them. */
function first(): Set<string> {
  const { html, scripts, imported } = parts.fa;
  const loader = Array.from(html.matchAll(/src="([^"]+\.js)"/g), ([, file = '']) => file);
  return new Set([...loader, ...scripts, ...imported].map((file) => file.slice(1)));
}

function pagesOf(): [name: string, chunks: string[]][] {
  return Object.keys(manifest)
    .filter((name) => /^src\/features\/.+-page\.tsx$/.test(name))
    .map((name) => {
      const feature = name.split('/')[2] ?? '';
      return [name, [name, `src/features/${feature}/texts/fa.po`, 'src/app/shell.tsx']];
    });
}

describe('the JavaScript of the panel', () => {
  it(`is at most ${SIGN_IN} kB for sign-in`, () => {
    expect(first().size).toBeGreaterThan(1);
    expect(kilobytes(first())).toBeLessThan(SIGN_IN);
  });

  it(`is at most ${FIRST_REPORT} kB up to the first report`, () => {
    const [, chunks = []] = pagesOf().find(([name]) => name.endsWith('funnel-page.tsx')) ?? [];
    const files = new Set([...first(), ...filesOf(...chunks)]);
    expect(kilobytes(files)).toBeLessThan(FIRST_REPORT);
  });

  it(`is at most ${OTHER_ROUTE} kB more for every page`, () => {
    const base = first();
    const more = pagesOf().map(([name, chunks]): [string, number] => {
      const own = [...filesOf(...chunks)].filter((file) => !base.has(file));
      return [name, kilobytes(own)];
    });
    expect(more.length).toBeGreaterThan(15);
    expect(more.filter(([, size]) => size > OTHER_ROUTE)).toEqual([]);
  });
});

describe('the documents of the panel', () => {
  it('know the files of every page, and that they exist', async () => {
    const names = await readdir(join(folder, 'assets'));
    const pages = PAGES.filter((page) => !('isPublic' in page));
    expect(Object.keys(parts.fa.pages)).toEqual(pages.map(({ path }) => path));
    for (const files of Object.values(parts.fa.pages)) {
      expect(files.length).toBeGreaterThan(2);
      for (const file of files) expect(names).toContain(file.replace('/assets/', ''));
    }
  });

  it.each(['fa', 'en'] as const)(
    '%s: have every page for every role, without scripts and inline styles',
    (language) => {
      const { signIn, shells, mains, html } = parts[language];
      const pages = PAGES.filter((page) => !('isPublic' in page));
      expect(Object.keys(mains)).toEqual(pages.map(({ path }) => path));
      for (const of of [shells, ...Object.values(mains)])
        expect(Object.keys(of)).toEqual(Object.keys(grants));
      const texts = [signIn, ...[shells, ...Object.values(mains)].flatMap(Object.values<string>)];
      for (const text of texts) {
        expect(text).toMatch(/<(?:h1|main)/);
        expect(text).not.toMatch(/<script|<style|\bstyle=|\bon\w+=/);
      }
      expect(html).toContain(
        `<html lang="${language}" dir="${language === 'fa' ? 'rtl' : 'ltr'}">`,
      );
      expect(html).not.toMatch(/<script(?![^>]*(?:\bsrc=|json))|<style|\bstyle=|\bon\w+=/);
      expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    },
  );

  it('have no word and no digit of the other language but the name of the switch', () => {
    const { signIn, shells, mains } = parts.en;
    const texts = [signIn, ...[shells, ...Object.values(mains)].flatMap(Object.values<string>)];
    const persian = texts.flatMap((text) => text.match(/[\u0600-\u06ff]+/g) ?? []);
    expect(new Set(persian)).toEqual(new Set(['فارسی']));
  });

  it('let nobody send a password before the application is there', () => {
    expect(parts.fa.signIn).toMatch(/<button [^>]*type="submit"[^>]* disabled=""/);
  });

  it('are followed by styles that ask no other host', async () => {
    const names = (await readdir(join(folder, 'assets'))).filter((name) => name.endsWith('.css'));
    const texts = await Promise.all(
      names.map((name) => readFile(join(folder, 'assets', name), 'utf8')),
    );
    expect(names.length).toBeGreaterThan(0);
    for (const text of texts) expect(text).not.toMatch(/url\(['"]?(?:https?:)?\/\//);
  });
});
