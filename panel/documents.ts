import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PAGES, type PanelPage } from './pages.ts';

/** What a language writes into the document that index.html holds for Persian. */
const LANGUAGES = {
  fa: { root: '<html lang="fa" dir="rtl">', title: 'روند', font: 'vazirmatn-arabic' },
  en: { root: '<html lang="en" dir="ltr">', title: 'Ravand', font: 'vazirmatn-latin' },
} as const;

interface Chunk {
  file: string;
  assets?: string[];
  css?: string[];
  imports?: string[];
}
type Manifest = Readonly<Record<string, Chunk>>;

/** What a signed-in member's browser needs for each page besides index.html, by its path. */
export type Preloads = Readonly<Record<string, readonly string[]>>;

/**
 * index.fa.html and index.en.html of a build: index.html in each language, which also preloads the
 * texts of the first page and the font, so that they come with the script and not after it.
 */
export async function documentsOf(folder: string): Promise<Record<string, string>> {
  const html = await readFile(join(folder, 'index.html'), 'utf8');
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  const assets = Object.values(manifest).flatMap(({ file, assets: more = [] }) => [file, ...more]);
  return Object.fromEntries(
    Object.entries(LANGUAGES).map(([language, { root, title, font }]) => {
      const texts = manifest[`src/app/first-texts/${language}.ts`]?.file;
      const fontFile = assets.find((name) => name.includes(font) && name.endsWith('.woff2'));
      if (!texts || !fontFile) throw new Error(`the build has no texts or no font of ${language}`);
      const preloads = [
        `<link rel="modulepreload" crossorigin href="/${texts}" />`,
        `<link rel="preload" as="font" type="font/woff2" crossorigin href="/${fontFile}" />`,
      ];
      const text = html
        .replace(LANGUAGES.fa.root, root)
        .replace(`<title>${LANGUAGES.fa.title}</title>`, `<title>${title}</title>`)
        .replace('</head>', `  ${preloads.join('\n    ')}\n  </head>`);
      return [`index.${language}.html`, text];
    }),
  );
}

/**
 * preloads.fa.json and preloads.en.json: the code, the styles and the texts of each page, which the
 * browser then fetches together with the application and not after it.
 */
export async function preloadsOf(folder: string): Promise<Record<string, string>> {
  const html = await readFile(join(folder, 'index.html'), 'utf8');
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  const pages: readonly PanelPage[] = PAGES;
  const filesOf = (language: string, module: string): string[] => {
    const texts = `src/features/${module.split('/')[0] ?? ''}/texts/${language}.po`;
    const names = ['src/app/shell.tsx', `src/features/${module}.tsx`, texts];
    return closureOf(manifest, names).filter((file) => !html.includes(file));
  };
  return Object.fromEntries(
    Object.keys(LANGUAGES).map((language) => {
      const preloads = pages.flatMap(({ path, module }) =>
        module === undefined ? [] : [[path, filesOf(language, module)] as const],
      );
      return [`preloads.${language}.json`, JSON.stringify(Object.fromEntries(preloads))];
    }),
  );
}

/** The files of chunks and of everything that they import. */
function closureOf(manifest: Manifest, names: readonly string[]): string[] {
  const known = new Set(names);
  for (const name of known) {
    const chunk = manifest[name];
    if (!chunk) throw new Error(`the build has no chunk ${name}`);
    for (const imported of chunk.imports ?? []) known.add(imported);
  }
  const files = [...known].flatMap((name) => {
    const { file = '', css = [] } = manifest[name] ?? {};
    return [file, ...css];
  });
  return [...new Set(files)];
}
