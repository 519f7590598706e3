import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PAGES, type PanelPage } from './pages.ts';
import type { Prerendered } from './prerendered.ts';

/** What a language writes into the document that index.html holds for Persian. */
const LANGUAGES = {
  fa: {
    root: '<html lang="fa" dir="rtl">',
    title: 'روند',
    font: 'vazirmatn-arabic',
    withoutScript: 'پنل بدون جاوااسکریپت کار نمی‌کند؛ آن را در مرورگر روشن کنید.',
    failed: 'برنامهٔ پنل بارگذاری نشد. اتصال اینترنت را بررسی کنید و',
    reload: 'صفحه را دوباره بارگذاری کنید',
  },
  en: {
    root: '<html lang="en" dir="ltr">',
    title: 'Ravand',
    font: 'vazirmatn-latin',
    withoutScript: 'The panel does not work without JavaScript: turn it on in the browser.',
    failed: 'The application did not load. Check the connection and',
    reload: 'reload the page',
  },
} as const;
type Language = keyof typeof LANGUAGES;

const SCRIPT = /\s*<script type="module"[^>]*\ssrc="([^"]+)"[^>]*><\/script>/g;
const PRELOADED = /\s*<link rel="modulepreload"[^>]*\shref="([^"]+)"[^>]*>/g;

interface Chunk {
  file: string;
  assets?: string[];
  imports?: string[];
}
type Manifest = Readonly<Record<string, Chunk>>;

/** What the control plane makes the documents of one language of. */
export interface DocumentParts extends Prerendered {
  /** index.html in the language, without a page and without the application's scripts. */
  html: string;
  /** The scripts of every page, in the order in which they run. */
  scripts: readonly string[];
  /** What the scripts import at once: the texts of every page. */
  imported: readonly string[];
  /** What a page of members imports besides, by its path. */
  pages: Readonly<Record<string, readonly string[]>>;
}

/**
 * The parts of the documents of a build. The document loads no script but the one that waits for
 * the first paint; it preloads the font, which would otherwise be asked for by the styles.
 */
export async function documentsOf(
  folder: string,
  prerendered: Readonly<Record<Language, Prerendered>>,
): Promise<Record<Language, DocumentParts>> {
  const index = await readFile(join(folder, 'index.html'), 'utf8');
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as Manifest;
  // What others import is first, so that each runs in a task of its own.
  const named = [PRELOADED, SCRIPT].flatMap((tag) => [...index.matchAll(tag)]);
  const scripts = named.map(([, file = '']) => file);
  const loader = manifest['src/first-paint.ts']?.file;
  if (!loader || scripts.length === 0) throw new Error('the build has no scripts to start with');
  const assets = Object.values(manifest).flatMap(({ file, assets: more = [] }) => [file, ...more]);
  const partsOf = (language: Language): DocumentParts => {
    const { root, title, font, withoutScript, failed, reload } = LANGUAGES[language];
    const texts = manifest[`src/app/first-texts/${language}.ts`]?.file;
    const fontFile = assets.find((name) => name.includes(font) && name.endsWith('.woff2'));
    if (!texts || !fontFile) throw new Error(`the build has no texts or no font of ${language}`);
    const head = [
      `<link rel="preload" as="font" type="font/woff2" crossorigin href="/${fontFile}" />`,
      `<script type="module" crossorigin src="/${loader}"></script>`,
    ];
    const notices = [
      `<p id="failed" class="notice" role="alert" hidden>${failed} <a href="">${reload}</a>.</p>`,
      `<noscript><p class="notice">${withoutScript}</p></noscript>`,
    ];
    const html = index
      .replaceAll(SCRIPT, '')
      .replaceAll(PRELOADED, '')
      .replace(LANGUAGES.fa.root, root)
      .replace(`<title>${LANGUAGES.fa.title}</title>`, `<title>${title}</title>`)
      .replace('</head>', `  ${head.join('\n    ')}\n  </head>`)
      .replace('</body>', `  ${notices.join('\n    ')}\n  </body>`);
    const known = [...scripts, `/${texts}`];
    const pages = pagesOf(manifest, { language, known });
    return { ...prerendered[language], html, scripts, imported: [`/${texts}`], pages };
  };
  return { fa: partsOf('fa'), en: partsOf('en') };
}

/** The code and the texts of each page of members, by its path. */
function pagesOf(
  manifest: Manifest,
  { language, known }: { language: Language; known: readonly string[] },
): Record<string, string[]> {
  const pages: readonly PanelPage[] = PAGES;
  const filesOf = (module: string): string[] => {
    const texts = `src/features/${module.split('/')[0] ?? ''}/texts/${language}.po`;
    const names = ['src/app/shell.tsx', `src/features/${module}.tsx`, texts];
    return closureOf(manifest, names)
      .map((file) => `/${file}`)
      .filter((file) => !known.includes(file));
  };
  return Object.fromEntries(
    pages.flatMap(({ path, module }) =>
      module === undefined ? [] : [[path, filesOf(module)] as const],
    ),
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
  return [...new Set([...known].map((name) => manifest[name]?.file ?? ''))];
}
