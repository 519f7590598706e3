import { hash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FileMissing } from './folder-files.ts';
import { signS3 } from './s3-client.ts';
import { s3Files } from './s3-files.ts';

const EXAMPLE = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};

/** The expected signature is from a signer that reproduces the examples that AWS publishes. */
it('signs path, query, body and time with Signature Version 4', async () => {
  vi.useFakeTimers({ now: Date.UTC(2013, 4, 24) });
  const url = new URL('https://store.example/bucket/a b.csv?partNumber=2&uploadId=u+1');
  const { headers } = await signS3({ method: 'PUT', url, body: Buffer.from('x') }, EXAMPLE);
  vi.useRealTimers();
  expect(headers.get('x-amz-date')).toBe('20130524T000000Z');
  expect(headers.get('authorization')).toContain(
    'Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
      'SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=e28183e3e45b3727caae55056d9799230abcc1715599137a79ccf7734858b8d6',
  );
});

/** A store with multipart uploads whose next answers can be made to fail. */
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
            return void response.writeHead(failure).end('<Error><Code>Refused</Code></Error>');
          if (request.headers['x-amz-content-sha256'] !== hash('sha256', body))
            return void response
              .writeHead(400)
              .end('<Error><Code>XAmzContentSHA256Mismatch</Code></Error>');
          const found = this.objects.get(url.pathname);
          if (url.searchParams.get('list-type') === '2')
            return void response.end(this.#list(url.searchParams));
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

  /** One key a page, in their order. */
  #list(query: URLSearchParams): string {
    const keys = [...this.objects.keys()]
      .map((path) => path.replace('/bucket/', ''))
      .filter((key) => key.startsWith(query.get('prefix') ?? ''));
    const at = Number(query.get('continuation-token') ?? 0);
    const next = at + 1 < keys.length;
    return `<ListBucketResult><Contents><Key>${keys[at] ?? ''}</Key></Contents>${next ? `<NextContinuationToken>${at + 1}</NextContinuationToken>` : ''}</ListBucketResult>`;
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

  it('uploads in parts, retries temporary failures, reads and removes', async () => {
    const files = await open();
    store.failures = [503];
    await files.write('a.csv', Readable.from([big.subarray(0, 5), big.subarray(5)]), never);
    expect(store.objects.get('/bucket/exports/a.csv')?.equals(big)).toBe(true);
    await files.write('empty.csv', Readable.from([]), never);
    expect(store.objects.get('/bucket/exports/empty.csv')?.length).toBe(0);
    store.objects.set('/bucket/other', Buffer.from(''));
    expect(await files.list()).toEqual(['a.csv', 'empty.csv']);
    store.objects.delete('/bucket/other');
    store.failures = [500];
    expect((await buffer(await files.read('a.csv'))).equals(big)).toBe(true);
    await files.remove('a.csv');
    await expect(files.read('a.csv')).rejects.toThrow(FileMissing);
    store.failures = [403];
    await expect(files.read('empty.csv')).rejects.toThrow('the export store answered 403: Refused');
    expect([...store.objects.keys()]).toEqual(['/bucket/exports/empty.csv']);
  });

  it('leaves no file when the source fails or the store refuses a request', async () => {
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
      'the export store answered 403: Refused',
    );
  });
});
