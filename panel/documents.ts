import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a language writes into the document that index.html holds for Persian. */
const LANGUAGES = {
  fa: { root: '<html lang="fa" dir="rtl">', title: 'روند', font: 'vazirmatn-arabic' },
  en: { root: '<html lang="en" dir="ltr">', title: 'Ravand', font: 'vazirmatn-latin' },
} as const;

type Manifest = Record<string, { file: string; assets?: string[] }>;

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
