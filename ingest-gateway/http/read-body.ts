import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/**
 * Why there is no body: too large, not decodable, the client left, or more is in memory than may.
 */
export type NoBody = 'too_large' | 'undecodable' | 'gone' | 'overloaded';

/** Bytes of request bodies that are in memory, over all requests. */
export class BodyBudget {
  readonly #max: number;
  bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** False when there is no room for so many more. */
  take(bytes: number): boolean {
    if (this.bytes + bytes > this.#max) return false;
    this.bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.bytes -= bytes;
  }
}

export interface BodyOptions {
  /** Bytes, of the body as sent and as decoded (ingest 8). */
  limit: number;
  budget: BodyBudget;
}

const unzip = promisify(gunzip);

/**
 * Reads a body, whatever its Content-Type says, and decodes gzip. What a body takes of the budget
 * is given back by whoever holds the body, when it is done with it; without a body nothing is
 * taken. A body over the limit is read no further into memory, but to its end, so that the client
 * sees the answer.
 */
export async function readBody(
  request: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | NoBody> {
  const encoding = request.headers['content-encoding'];
  const isPlain =
    encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity';
  if (!isPlain && !/^(x-)?gzip$/i.test(encoding)) return 'undecodable';
  const sent = await readSent(request, options);
  return isPlain || typeof sent === 'string' ? sent : decode(sent, options);
}

function readSent(
  request: IncomingMessage,
  { limit, budget }: BodyOptions,
): Promise<Buffer | NoBody> {
  const announced = request.headers['content-length'];
  if (announced !== undefined && Number(announced) > limit) return Promise.resolve('too_large');
  return new Promise((resolve) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let length = 0;
    let taken = 0;
    let isOpen = true;
    const end = (result: Buffer | NoBody) => {
      if (!isOpen) return;
      isOpen = false;
      if (typeof result === 'string') budget.give(taken);
      first = chunks = undefined;
      resolve(result);
    };
    request.on('data', (chunk: Buffer) => {
      if (!isOpen) return;
      length += chunk.length;
      if (length > limit) return end('too_large');
      if (!budget.take(chunk.length)) return end('overloaded');
      taken += chunk.length;
      if (!first) first = chunk;
      else (chunks ??= [first]).push(chunk);
    });
    request.on('end', () =>
      end(chunks ? Buffer.concat(chunks, length) : (first ?? Buffer.alloc(0))),
    );
    // Without a listener for errors a client that leaves only closes.
    request.on('close', () => end('gone'));
  });
}

async function decode(sent: Buffer, { limit, budget }: BodyOptions): Promise<Buffer | NoBody> {
  try {
    const decoded = await unzip(sent, { maxOutputLength: limit });
    budget.give(sent.length);
    return budget.take(decoded.length) ? decoded : 'overloaded';
  } catch (error) {
    budget.give(sent.length);
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? 'too_large'
      : 'undecodable';
  }
}
