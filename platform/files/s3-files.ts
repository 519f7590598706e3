import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { ExportFiles } from './folder-files.ts';
import { S3Client, type S3Options } from './s3-client.ts';

/** One part is in memory at a time. S3 allows 10,000 parts: 160 GB a file. */
const PART_BYTES = 16 * 2 ** 20;

/** Files in S3-compatible storage, in parts; a file appears when the last is acknowledged. */
export function s3Files(options: Omit<S3Options, 'what'>): ExportFiles {
  const client = new S3Client({ ...options, what: 'export store' });
  return {
    async write(name, content, signal) {
      const { text } = await client.send({ method: 'POST', name, query: { uploads: '' }, signal });
      const uploadId = /<UploadId>([^<]+)<\/UploadId>/.exec(text)?.[1];
      if (uploadId === undefined) throw new Error('the export store answered no upload id');
      try {
        const etags: string[] = [];
        for await (const part of parts(content)) {
          const query = { partNumber: String(etags.length + 1), uploadId };
          etags.push((await client.send({ method: 'PUT', name, query, body: part, signal })).etag);
        }
        const listed = etags
          .map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
          .join('');
        const body = Buffer.from(`<CompleteMultipartUpload>${listed}</CompleteMultipartUpload>`);
        await client.send({ method: 'POST', name, query: { uploadId }, body, signal });
      } catch (error) {
        await client
          .sendOnce({ method: 'DELETE', name, query: { uploadId } })
          .catch(() => undefined);
        throw error;
      }
    },
    read: (name) =>
      client.download({ name }, ({ body }) => Readable.fromWeb(body as ReadableStream)),
    async remove(name) {
      await client.send({ method: 'DELETE', name });
    },
    async list() {
      const found: string[] = [];
      for await (const { names } of client.list({ prefix: '' })) found.push(...names);
      return found.filter((name) => name !== '' && !name.includes('/'));
    },
    freeBytes: () => Promise.resolve(Infinity),
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
