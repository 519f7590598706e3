import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { DocumentParts } from '../../panel/documents.ts';
import type { RenderedAnswer } from '../../platform/http/host.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
/** Names of assets contain a hash of their content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';
const AN_HOUR = 'public, max-age=3600';

interface BuiltFile {
  type: string;
  cache: string;
  etag: string;
  plain: Buffer;
  /** By Content-Encoding, as panel/build.ts compressed them. */
  encoded: ReadonlyMap<string, Buffer>;
}

/** The built panel in memory: a few megabytes. */
export interface PanelFiles {
  /** The answer for a path such as /assets/x.js; undefined: there is no such file. */
  answer(
    path: string,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): RenderedAnswer | undefined;
  /** What documents are made of, by language; undefined: the panel is not built. */
  documents: Readonly<Record<'fa' | 'en', DocumentParts>> | undefined;
}

/** Reads what panel/build.ts wrote. A folder that does not exist is a panel without files. */
export function readPanelFiles(folder: string): PanelFiles {
  const names = namesIn(folder);
  const files = new Map(
    names.flatMap((name) => {
      const type = TYPES[extname(name)];
      return type === undefined ? [] : [[`/${name}`, readFile(folder, { name, names, type })]];
    }),
  );
  return {
    answer(path, headers) {
      const file = files.get(path);
      return file && answerFile(file, headers);
    },
    documents: names.includes('documents.fa.json')
      ? { fa: documentsIn(folder, 'fa'), en: documentsIn(folder, 'en') }
      : undefined,
  };
}

function documentsIn(folder: string, language: 'fa' | 'en'): DocumentParts {
  const text = readFileSync(join(folder, `documents.${language}.json`), 'utf8');
  return JSON.parse(text) as DocumentParts;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function readFile(
  folder: string,
  { name, names, type }: { name: string; names: readonly string[]; type: string },
): BuiltFile {
  const plain = readFileSync(join(folder, name));
  const encoded = ENCODINGS.filter(([, ending]) => names.includes(name + ending));
  return {
    type,
    cache: name.startsWith('assets/') ? IMMUTABLE : AN_HOUR,
    etag: `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`,
    plain,
    encoded: new Map(
      encoded.map(([encoding, ending]) => [encoding, readFileSync(join(folder, name + ending))]),
    ),
  };
}

function answerFile(
  { type, cache, etag, plain, encoded }: BuiltFile,
  headers: Parameters<PanelFiles['answer']>[1],
): RenderedAnswer {
  const common = { 'cache-control': cache, etag, vary: 'accept-encoding' };
  if (headers['if-none-match'] === etag) return { status: 304, headers: common, body: undefined };
  const accepted = acceptedEncodings([headers['accept-encoding'] ?? ''].flat().join());
  const [encoding, body] = [...encoded].find(([name]) => accepted.has(name)) ?? [undefined, plain];
  return {
    status: 200,
    headers: {
      ...common,
      'content-type': type,
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    },
    body,
  };
}

/** The encodings of Accept-Encoding that are not refused with q=0. */
export function acceptedEncodings(header: string): Set<string> {
  const listed = header.split(',').map((one) =>
    one
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/),
  );
  return new Set(
    listed.flatMap(([name = '', ...parameters]) =>
      parameters.some((one) => /^q=0(\.0*)?$/.test(one)) ? [] : [name],
    ),
  );
}
