import { Readable } from 'node:stream';
import { retry } from '../backoff.ts';
import { FileMissing, type ExportFiles } from './folder-files.ts';
import { sha256, signS3, type S3Credentials } from './s3-sign.ts';

/** One part is in memory at a time; 10,000 parts are the most that S3 takes: 160 GB a file. */
const PART_BYTES = 16 * 2 ** 20;
const REQUEST_MS = 60_000;
/** A whole file may take this long. */
const DOWNLOAD_MS = 3_600_000;
const TRIES = { base: 500, cap: 10_000, attempts: 5 };

export interface S3Options extends S3Credentials {
  /**
   * `https://host/bucket` or `https://host/bucket/prefix`: path-style addresses, which every
   * S3-compatible store understands.
   */
  url: string;
  fetch?: typeof fetch;
}

interface Ask {
  method: string;
  name: string;
  query?: Record<string, string>;
  body?: Buffer;
  signal?: AbortSignal;
}

/** An answer of the store that no further try can better. */
class Refused extends Error {}

/**
 * Files in S3-compatible storage. A file is uploaded in parts and appears whole, when the last of
 * them is acknowledged.
 */
export function s3Files(options: S3Options): ExportFiles {
  const send = options.fetch ?? fetch;

  const once = async ({ method, name, query = {}, body = Buffer.alloc(0), signal }: Ask) => {
    const url = new URL(`${options.url.replace(/\/$/, '')}/${name}`);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    const headers = signS3(
      { method, url, headers: {}, payloadHash: sha256(body), now: Date.now() },
      options,
    );
    // fetch sets it itself.
    delete headers['host'];
    const bounds = AbortSignal.any([AbortSignal.timeout(REQUEST_MS), ...(signal ? [signal] : [])]);
    const response = await send(url, {
      method,
      headers,
      signal: bounds,
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    });
    const text = await response.text();
    const failed = !response.ok || text.includes('<Error>');
    if (
      failed &&
      response.status >= 400 &&
      response.status < 500 &&
      response.status !== 429 &&
      method !== 'DELETE'
    )
      throw new Refused(problem(response.status, text));
    if (failed && response.status !== 404) throw new Error(problem(response.status, text));
    return { text, etag: response.headers.get('etag') ?? '' };
  };

  const download = async (name: string): Promise<Readable | Refused | FileMissing> => {
    const url = new URL(`${options.url.replace(/\/$/, '')}/${name}`);
    const headers = signS3(
      { method: 'GET', url, headers: {}, payloadHash: sha256(''), now: Date.now() },
      options,
    );
    delete headers['host'];
    const response = await send(url, { headers, signal: AbortSignal.timeout(DOWNLOAD_MS) });
    if (response.ok && response.body) return Readable.fromWeb(response.body);
    const text = await response.text();
    if (response.status === 404) return new FileMissing(`the export store has no ${name}`);
    if (response.status >= 400 && response.status < 500 && response.status !== 429)
      return new Refused(problem(response.status, text));
    throw new Error(problem(response.status, text));
  };

  /** Refusals end the tries at once: they are carried around the retry as values. */
  const ask = async (request: Ask) => {
    const outcome = await retry(
      { ...TRIES, ...(request.signal ? { signal: request.signal } : {}) },
      () =>
        once(request).catch((error: unknown) => {
          if (error instanceof Refused) return error;
          throw error;
        }),
    );
    if (outcome instanceof Refused) throw outcome;
    return outcome;
  };

  return {
    async write(name, content, signal) {
      const { text } = await ask({ method: 'POST', name, query: { uploads: '' }, signal });
      const uploadId = /<UploadId>([^<]+)<\/UploadId>/.exec(text)?.[1];
      if (uploadId === undefined) throw new Error('the store began an upload without naming it');
      try {
        const etags: string[] = [];
        for await (const part of parts(content)) {
          const query = { partNumber: String(etags.length + 1), uploadId };
          etags.push((await ask({ method: 'PUT', name, query, body: part, signal })).etag);
        }
        const listed = etags
          .map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
          .join('');
        const body = Buffer.from(`<CompleteMultipartUpload>${listed}</CompleteMultipartUpload>`);
        await ask({ method: 'POST', name, query: { uploadId }, body, signal });
      } catch (error) {
        await once({ method: 'DELETE', name, query: { uploadId } }).catch(() => undefined);
        throw error;
      }
    },
    async read(name) {
      const outcome = await retry(TRIES, () => download(name));
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    async remove(name) {
      await ask({ method: 'DELETE', name });
    },
  };
}

/** Pieces of PART_BYTES, the last one shorter; one empty piece for an empty stream. */
async function* parts(content: Readable): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  let isFirst = true;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    waiting.push(chunk);
    length += chunk.length;
    while (length >= PART_BYTES) {
      const all = Buffer.concat(waiting, length);
      yield all.subarray(0, PART_BYTES);
      isFirst = false;
      waiting = [all.subarray(PART_BYTES)];
      length -= PART_BYTES;
    }
  }
  if (length > 0 || isFirst) yield Buffer.concat(waiting, length);
}

function problem(status: number, text: string): string {
  return `the export store answered ${status}: ${/<Code>([^<]+)<\/Code>/.exec(text)?.[1] ?? 'no reason'}`;
}
