import { AwsV4Signer } from 'aws4fetch';
import { createHash } from 'node:crypto';
import { retry } from '../backoff.ts';
import { FileMissing } from './folder-files.ts';

const REQUEST_MS = 60_000;
/** For a whole object. */
const DOWNLOAD_MS = 3_600_000;
const ATTEMPTS = { base: 500, cap: 10_000, attempts: 5 };

export interface S3Options {
  /** What it stores, for errors: "export store". */
  what: string;
  /** `https://host/bucket[/prefix]`: path-style, which every S3-compatible store has. */
  url: string;
  region: string;
  accessKey: string;
  secretKey: string;
}

export interface StoreRequest {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Below the prefix. */
  name: string;
  /** The bucket itself, without prefix and name. */
  bucket?: boolean;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer;
  signal?: AbortSignal;
}

/** An answer of the store that another attempt does not change. */
export class Refused extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export interface ListRequest {
  /** Names that begin with this. */
  prefix: string;
  /** Names behind this one. */
  startAfter?: string;
  /** `/`: folders, and only the names in this one. */
  delimiter?: '/';
  signal?: AbortSignal;
}

/** One page of names below the prefix of the URL, and of folders, which end with `/`. */
interface ListedPage {
  names: string[];
  folders: string[];
}

/** Requests to one bucket, or to a prefix of it, signed and retried. */
export class S3Client {
  readonly #options: S3Options;
  readonly #base: URL;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(options: S3Options) {
    this.#options = options;
    this.#base = new URL(options.url);
    const [, bucket = '', ...folders] = this.#base.pathname.split('/');
    this.#bucket = bucket;
    this.#prefix = folders
      .filter((one) => one !== '')
      .map((one) => `${one}/`)
      .join('');
  }

  /** Rejects with Refused, or when several attempts failed. */
  send(request: StoreRequest): Promise<{ text: string; etag: string }> {
    return this.#retry(request.signal, () => this.sendOnce(request));
  }

  async sendOnce(request: StoreRequest): Promise<{ text: string; etag: string }> {
    const response = await this.#fetch(request);
    const text = await response.text();
    const isDelete = request.method === 'DELETE';
    // A failed completion of an upload may have status 200.
    if ((!response.ok || text.includes('<Error>')) && !(isDelete && response.status === 404))
      throw this.#failure(response.status, text, { isFinal: !isDelete });
    return { text, etag: response.headers.get('etag') ?? '' };
  }

  /** `consume` reads the body; it is repeated with the request. Rejects with FileMissing. */
  download<T>(
    { name, signal }: Pick<StoreRequest, 'name' | 'signal'>,
    consume: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    return this.#retry(signal, async () => {
      const request = { method: 'GET', name } as const;
      const response = await this.#fetch(signal ? { ...request, signal } : request);
      if (response.ok && response.body) return await consume(response);
      const text = await response.text();
      if (response.status === 404)
        throw new FileMissing(`the ${this.#options.what} has no ${name}`);
      throw this.#failure(response.status, text, { isFinal: true });
    });
  }

  /** Pages of names, in the order of their bytes. */
  async *list({ prefix, startAfter, delimiter, signal }: ListRequest): AsyncGenerator<ListedPage> {
    const query = {
      ...{ 'list-type': '2', prefix: `${this.#prefix}${prefix}` },
      ...(startAfter === undefined ? {} : { 'start-after': `${this.#prefix}${startAfter}` }),
      ...(delimiter === undefined ? {} : { delimiter }),
    };
    let next: string | undefined;
    do {
      const token: Record<string, string> = next ? { 'continuation-token': next } : {};
      const { text } = await this.send({
        ...{ method: 'GET', bucket: true, name: '', query: { ...query, ...token } },
        ...(signal ? { signal } : {}),
      });
      const found = (pattern: RegExp) =>
        [...text.matchAll(pattern)].map(([, key = '']) => key.slice(this.#prefix.length));
      yield {
        names: found(/<Key>([^<]+)<\/Key>/g),
        folders: found(/<CommonPrefixes>\s*<Prefix>([^<]+)<\/Prefix>/g),
      };
      next = /<NextContinuationToken>([^<]+)</.exec(text)?.[1];
    } while (next !== undefined);
  }

  async #fetch(request: StoreRequest): Promise<Response> {
    const { method, name, bucket = false, query = {}, headers = {}, signal } = request;
    const { body = Buffer.alloc(0) } = request;
    const url = bucket
      ? new URL(`/${this.#bucket}`, this.#base)
      : new URL(`${this.#options.url.replace(/\/$/, '')}/${name}`);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    const signed = await signS3({ method, url, body, headers }, this.#options);
    const timeout = AbortSignal.timeout(method === 'GET' ? DOWNLOAD_MS : REQUEST_MS);
    return await fetch(url, {
      method,
      headers: signed.headers,
      signal: AbortSignal.any(signal ? [timeout, signal] : [timeout]),
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    });
  }

  #retry<T>(signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
    return retry({ ...ATTEMPTS, isFinal, ...(signal ? { signal } : {}) }, attempt);
  }

  /** 4xx is final where the request allows it, except what another attempt may change. */
  #failure(status: number, text: string, { isFinal }: { isFinal: boolean }): Error {
    const reason = /<Code>([^<]+)<\/Code>/.exec(text)?.[1] ?? 'no reason';
    const message = `the ${this.#options.what} answered ${status}: ${reason}`;
    return isFinal && status >= 400 && status < 500 && !PASSING.includes(status)
      ? new Refused(message, status)
      : new Error(message);
  }
}

/** Another request for the same object is in progress; too many requests. */
const PASSING: readonly number[] = [409, 429];

/** AWS Signature Version 4 of a request, with the hash of its body. */
export async function signS3(
  {
    method,
    url,
    body,
    headers = {},
  }: { method: string; url: URL; body: Buffer; headers?: Record<string, string> },
  { region, accessKey, secretKey }: Pick<S3Options, 'region' | 'accessKey' | 'secretKey'>,
): Promise<{ headers: Headers }> {
  const payloadHash = createHash('sha256').update(body).digest('hex');
  return await new AwsV4Signer({
    ...{ method, url: url.href, region, service: 's3' },
    headers: { ...headers, 'x-amz-content-sha256': payloadHash },
    ...{ accessKeyId: accessKey, secretAccessKey: secretKey },
  }).sign();
}

function isFinal(error: unknown): boolean {
  return error instanceof Refused || error instanceof FileMissing;
}
