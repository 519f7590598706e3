import { AwsV4Signer } from 'aws4fetch';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { retry } from '../backoff.ts';
import { FileMissing, type ExportFiles } from './folder-files.ts';

/** One part is in memory at a time. S3 allows 10,000 parts: 160 GB a file. */
const PART_BYTES = 16 * 2 ** 20;
const REQUEST_MS = 60_000;
/** For a whole file. */
const DOWNLOAD_MS = 3_600_000;
const ATTEMPTS = { base: 500, cap: 10_000, attempts: 5 };

export interface S3Options {
  /** `https://host/bucket[/prefix]`: path-style, which every S3-compatible store has. */
  url: string;
  region: string;
  accessKey: string;
  secretKey: string;
}

interface StoreRequest {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  name: string;
  /** The bucket itself, without prefix and name. */
  bucket?: boolean;
  query?: Record<string, string>;
  body?: Buffer;
  signal?: AbortSignal;
}

/** An answer of the store that another attempt does not change. */
class Refused extends Error {}

/** Files in S3-compatible storage, in parts; a file appears when the last is acknowledged. */
export function s3Files(options: S3Options): ExportFiles {
  const base = new URL(options.url);
  const [, bucketName = '', ...folders] = base.pathname.split('/');
  const prefix = folders
    .filter((one) => one !== '')
    .map((one) => `${one}/`)
    .join('');
  const fetchOnce = async ({
    method,
    name,
    bucket = false,
    query = {},
    body = Buffer.alloc(0),
    signal,
  }: StoreRequest) => {
    const url = bucket
      ? new URL(`/${bucketName}`, base)
      : new URL(`${options.url.replace(/\/$/, '')}/${name}`);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    const signed = await signS3({ method, url, body }, options);
    const timeout = AbortSignal.timeout(method === 'GET' ? DOWNLOAD_MS : REQUEST_MS);
    return await fetch(url, {
      method,
      headers: signed.headers,
      signal: AbortSignal.any(signal ? [timeout, signal] : [timeout]),
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    });
  };

  const sendOnce = async (request: StoreRequest) => {
    const response = await fetchOnce(request);
    const text = await response.text();
    const isDelete = request.method === 'DELETE';
    // A failed completion of an upload may have status 200.
    if ((!response.ok || text.includes('<Error>')) && !(isDelete && response.status === 404))
      throw failure(response.status, text, { isFinal: !isDelete });
    return { text, etag: response.headers.get('etag') ?? '' };
  };

  const send = (request: StoreRequest) =>
    retry({ ...ATTEMPTS, isFinal, ...(request.signal ? { signal: request.signal } : {}) }, () =>
      sendOnce(request),
    );

  return {
    async write(name, content, signal) {
      const { text } = await send({ method: 'POST', name, query: { uploads: '' }, signal });
      const uploadId = /<UploadId>([^<]+)<\/UploadId>/.exec(text)?.[1];
      if (uploadId === undefined) throw new Error('the export store answered no upload id');
      try {
        const etags: string[] = [];
        for await (const part of parts(content)) {
          const query = { partNumber: String(etags.length + 1), uploadId };
          etags.push((await send({ method: 'PUT', name, query, body: part, signal })).etag);
        }
        const listed = etags
          .map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
          .join('');
        const body = Buffer.from(`<CompleteMultipartUpload>${listed}</CompleteMultipartUpload>`);
        await send({ method: 'POST', name, query: { uploadId }, body, signal });
      } catch (error) {
        await sendOnce({ method: 'DELETE', name, query: { uploadId } }).catch(() => undefined);
        throw error;
      }
    },
    async read(name) {
      return await retry({ ...ATTEMPTS, isFinal }, async () => {
        const response = await fetchOnce({ method: 'GET', name });
        if (response.ok && response.body) return Readable.fromWeb(response.body);
        const text = await response.text();
        if (response.status === 404) throw new FileMissing(`the export store has no ${name}`);
        throw failure(response.status, text, { isFinal: true });
      });
    },
    async remove(name) {
      await send({ method: 'DELETE', name });
    },
    async list() {
      const names: string[] = [];
      let next: string | undefined;
      do {
        const token: Record<string, string> = next ? { 'continuation-token': next } : {};
        const query = { 'list-type': '2', prefix, ...token };
        const { text } = await send({ method: 'GET', bucket: true, name: '', query });
        for (const [, key = ''] of text.matchAll(/<Key>([^<]+)<\/Key>/g))
          names.push(key.slice(prefix.length));
        next = /<NextContinuationToken>([^<]+)</.exec(text)?.[1];
      } while (next !== undefined);
      return names.filter((name) => name !== '' && !name.includes('/'));
    },
    freeBytes: () => Promise.resolve(Infinity),
  };
}

/** AWS Signature Version 4 of a request, with the hash of its body. */
export async function signS3(
  { method, url, body }: { method: string; url: URL; body: Buffer },
  { region, accessKey, secretKey }: Omit<S3Options, 'url'>,
): Promise<{ headers: Headers }> {
  const payloadHash = createHash('sha256').update(body).digest('hex');
  return await new AwsV4Signer({
    ...{ method, url: url.href, region, service: 's3' },
    headers: { 'x-amz-content-sha256': payloadHash },
    ...{ accessKeyId: accessKey, secretAccessKey: secretKey },
  }).sign();
}

function isFinal(error: unknown): boolean {
  return error instanceof Refused || error instanceof FileMissing;
}

/** 4xx except 429 is final, where the request allows it. */
function failure(status: number, text: string, { isFinal }: { isFinal: boolean }): Error {
  const reason = /<Code>([^<]+)<\/Code>/.exec(text)?.[1] ?? 'no reason';
  const message = `the export store answered ${status}: ${reason}`;
  return isFinal && status >= 400 && status < 500 && status !== 429
    ? new Refused(message)
    : new Error(message);
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
