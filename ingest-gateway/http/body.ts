import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import {
  readBytes,
  type MemoryBudget,
  type ReadFailure,
  type ReadLimits,
} from '../../platform/http/read-body.ts';

/** Why there is no body. */
export type BodyFailure = ReadFailure | 'undecodable';

/** Limits the bytes of request bodies in memory, over all requests. */
export class BodyBudget implements MemoryBudget {
  readonly #max: number;
  bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  acquire(bytes: number): boolean {
    if (this.bytes + bytes > this.#max) return false;
    this.bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.bytes -= bytes;
  }
}

/** The limit holds for the body as sent and as decoded (ingest 8). */
type BodyOptions = Required<ReadLimits>;

const unzip = promisify(gunzip);

/** Reads a body, whatever its Content-Type says, and decodes gzip; see readBytes. */
export async function readBody(
  request: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | BodyFailure> {
  const encoding = request.headers['content-encoding'];
  const isPlain =
    encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity';
  if (!isPlain && !/^(x-)?gzip$/i.test(encoding)) return 'undecodable';
  const sent = await readBytes(request, options);
  return isPlain || typeof sent === 'string' ? sent : decode(sent, options);
}

async function decode(sent: Buffer, { limit, budget }: BodyOptions): Promise<Buffer | BodyFailure> {
  try {
    const decoded = await unzip(sent, { maxOutputLength: limit });
    budget.release(sent.length);
    return budget.acquire(decoded.length) ? decoded : 'overloaded';
  } catch (error) {
    budget.release(sent.length);
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
      ? 'too_large'
      : 'undecodable';
  }
}
