import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { FileMissing } from './folder-files.ts';
import { s3Files } from './s3-files.ts';
import { sha256, signS3 } from './s3-sign.ts';

const EXAMPLE = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};

it('signs the published example of S3 ("GET Object") as it is printed there', () => {
  const url = new URL('https://examplebucket.s3.amazonaws.com/test.txt');
  const headers = signS3(
    {
      method: 'GET',
      url,
      headers: { range: 'bytes=0-9' },
      payloadHash: sha256(''),
      now: Date.UTC(2013, 4, 24),
    },
    EXAMPLE,
  );
  expect(headers['authorization']).toContain(
    'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,',
  );
  expect(headers['authorization']).toContain(
    'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});

/** A store that speaks the four calls of a multipart upload and can be told to fail. */
class FakeStore {
  readonly server: Server;
  readonly objects = new Map<string, Buffer>();
  readonly aborted: string[] = [];
  failures: number[] = [];
  readonly #uploads = new Map<string, Buffer[]>();

  constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const url = new URL(request.url ?? '', 'http://store');
          const body = Buffer.concat(chunks);
          const failure = this.failures.shift();
          if (failure !== undefined)
            return void response.writeHead(failure).end('<Error><Code>Told</Code></Error>');
          if (request.headers['x-amz-content-sha256'] !== sha256(body))
            return void response
              .writeHead(400)
              .end('<Error><Code>XAmzContentSHA256Mismatch</Code></Error>');
          const found = this.objects.get(url.pathname);
          if (request.method === 'GET') {
            if (!found) response.writeHead(404);
            response.end(found ?? '<Error><Code>NoSuchKey</Code></Error>');
            return;
          }
          response.end(
            this.#answer({
              method: request.method ?? '',
              url,
              body,
              header: (name, value) => response.setHeader(name, value),
            }),
          );
        });
    });
  }

  #answer({
    method,
    url,
    body,
    header,
  }: {
    method: string;
    url: URL;
    body: Buffer;
    header: (name: string, value: string) => void;
  }): string {
    const id = url.searchParams.get('uploadId') ?? '';
    if (url.searchParams.has('uploads')) {
      this.#uploads.set('u 1', []);
      return '<InitiateMultipartUploadResult><UploadId>u 1</UploadId></InitiateMultipartUploadResult>';
    }
    if (method === 'PUT') {
      const number = Number(url.searchParams.get('partNumber'));
      this.#uploads.get(id)?.splice(number - 1, 1, body);
      header('etag', `"${number}"`);
    } else if (method === 'POST') {
      expect(body.toString()).toContain('<Part><PartNumber>1</PartNumber><ETag>"1"</ETag></Part>');
      this.objects.set(url.pathname, Buffer.concat(this.#uploads.get(id) ?? []));
    } else if (method === 'DELETE' && id !== '') this.aborted.push(id);
    else this.objects.delete(url.pathname);
    return '';
  }
}

describe('s3Files', () => {
  let store: FakeStore;
  afterEach(() => new Promise((resolve) => store.server.close(resolve)));

  async function open() {
    store = new FakeStore();
    await new Promise<void>((resolve) => store.server.listen(0, '127.0.0.1', resolve));
    const { port } = store.server.address() as AddressInfo;
    return s3Files({ ...EXAMPLE, url: `http://127.0.0.1:${port}/bucket/exports` });
  }
  const never = new AbortController().signal;
  const big = Buffer.alloc(16 * 2 ** 20 + 7, 'x');

  it('uploads in parts, comes through passing failures, reads and removes', async () => {
    const files = await open();
    store.failures = [503];
    await files.write('a.csv', Readable.from([big.subarray(0, 5), big.subarray(5)]), never);
    expect(store.objects.get('/bucket/exports/a.csv')?.equals(big)).toBe(true);
    await files.write('empty.csv', Readable.from([]), never);
    expect(store.objects.get('/bucket/exports/empty.csv')?.length).toBe(0);
    store.failures = [500];
    expect((await buffer(await files.read('a.csv'))).equals(big)).toBe(true);
    await files.remove('a.csv');
    await expect(files.read('a.csv')).rejects.toThrow(FileMissing);
    store.failures = [403];
    await expect(files.read('empty.csv')).rejects.toThrow('the export store answered 403: Told');
    expect([...store.objects.keys()]).toEqual(['/bucket/exports/empty.csv']);
  });

  it('leaves nothing behind when the source breaks or the store refuses', async () => {
    const files = await open();
    const breaking = Readable.from(
      (async function* () {
        yield await Promise.resolve(big);
        throw new Error('cut');
      })(),
    );
    await expect(files.write('b.csv', breaking, never)).rejects.toThrow('cut');
    expect([store.objects.size, store.aborted]).toEqual([0, ['u 1']]);
    store.failures = [403];
    await expect(files.write('c.csv', Readable.from([]), never)).rejects.toThrow(
      'the export store answered 403: Told',
    );
  });
});
