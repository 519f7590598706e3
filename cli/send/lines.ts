import { createHash } from 'node:crypto';
import { createReadStream, openSync, readSync, closeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** Lines of a file, gunzipped if its first bytes say so. Rejects when the file cannot be read. */
export async function* readLines(file: string): AsyncGenerator<string> {
  const raw = createReadStream(file);
  const source: Readable = isGzip(file) ? raw.pipe(createGunzip()) : raw;
  raw.on('error', (error: Error) => {
    source.destroy(error);
  });
  const lines = createInterface({ input: source, crlfDelay: Number.POSITIVE_INFINITY });
  let failure: Error | undefined;
  source.on('error', (error) => {
    failure = error;
    lines.close();
  });
  for await (const line of lines) yield line;
  if (failure) throw failure;
}

function isGzip(file: string): boolean {
  const handle = openSync(file, 'r');
  try {
    const start = Buffer.alloc(2);
    readSync(handle, start, 0, 2, 0);
    return start[0] === 0x1f && start[1] === 0x8b;
  } finally {
    closeSync(handle);
  }
}

/**
 * Names lines: the id comes from the content and from how often the same line came before. So a
 * file that is sent twice has the same ids, and equal lines within it stay separate.
 */
export function startNaming(): (line: string) => string {
  const seen = new Map<string, number>();
  return (line) => {
    const content = createHash('sha256').update(line).digest('base64url').slice(0, 32);
    const repetition = (seen.get(content) ?? 0) + 1;
    seen.set(content, repetition);
    return `${content}-${repetition}`;
  };
}
