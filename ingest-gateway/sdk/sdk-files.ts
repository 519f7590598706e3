import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A file of the SDK as it is sent. */
export interface SdkFile {
  body: Buffer;
  gzip: Buffer;
  etag: string;
  type: string;
  /** Of its source map; empty: it is one. */
  map: string;
  /** Its name changes with its content. */
  isImmutable: boolean;
}

/** By name. */
export type SdkFiles = ReadonlyMap<string, SdkFile>;

interface Manifest {
  /** In the names of the files that are loaded on demand. */
  release: string;
  files: { name: string }[];
}

/** Reads what sdk/build.ts made. Rejects when it is not whole. */
export async function readSdkFiles(folder: string): Promise<SdkFiles> {
  const text = await readFile(join(folder, 'manifest.json'), 'utf8');
  const { release, files } = JSON.parse(text) as Manifest;
  const names = files.flatMap(({ name }) => [name, `${name}.map`]);
  const entries = names.map(async (name): Promise<[string, SdkFile]> => {
    const body = await readFile(join(folder, name));
    const isMap = name.endsWith('.map');
    return [
      name,
      {
        body,
        gzip: gzipSync(body, { level: 9 }),
        etag: createHash('sha256').update(body).digest('base64url').slice(0, 22),
        type: isMap ? 'application/json' : 'text/javascript; charset=utf-8',
        map: isMap ? '' : `${name}.map`,
        isImmutable: name.includes(`.${release}.`),
      },
    ];
  });
  return new Map(await Promise.all(entries));
}

/**
 * The file of a name. A page may still run the core of another release: for the name of that
 * release it gets the file of this one, which does the same and may not be kept.
 */
export function findSdkFile(files: SdkFiles, name: string): SdkFile | undefined {
  const exact = files.get(name);
  if (exact) return exact;
  const [entry = '', hash = '', ...rest] = name.split('.');
  if (rest.join('.') !== 'js' || !/^[0-9a-f]{1,64}$/.test(hash)) return undefined;
  for (const [other, file] of files)
    if (file.isImmutable && other.startsWith(`${entry}.`) && other.endsWith('.js'))
      return { ...file, isImmutable: false };
  return undefined;
}
