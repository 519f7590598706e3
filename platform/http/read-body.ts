import type { IncomingMessage } from 'node:http';

/** Why there is no body: too large, client gone, or too many bytes in memory. */
export type ReadFailure = 'too_large' | 'client_gone' | 'overloaded';

/** Bytes of bodies in memory, over all requests. */
export interface MemoryBudget {
  /** False when there is no room for so many more bytes. */
  acquire(bytes: number): boolean;
  release(bytes: number): void;
}

export interface ReadLimits {
  /** Bytes of one body. */
  limit: number;
  /** The caller releases the bytes of the body it gets; without a body nothing remains acquired. */
  budget?: MemoryBudget;
}

/** Reads a body. The excess is read, not kept, so that the client sees the answer. */
export async function readBytes(
  message: IncomingMessage,
  { limit, budget }: ReadLimits,
): Promise<Buffer | ReadFailure> {
  if (Number(message.headers['content-length'] ?? 0) > limit) {
    message.resume();
    return 'too_large';
  }
  // `close` has been emitted already.
  if (message.destroyed) return 'client_gone';
  return await new Promise((resolve) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let length = 0;
    let acquired = 0;
    let isOpen = true;
    const end = (result: Buffer | ReadFailure) => {
      if (!isOpen) return;
      isOpen = false;
      if (typeof result === 'string') budget?.release(acquired);
      first = chunks = undefined;
      resolve(result);
    };
    message.on('data', (chunk: Buffer) => {
      if (!isOpen) return;
      length += chunk.length;
      if (length > limit) return end('too_large');
      if (budget?.acquire(chunk.length) === false) return end('overloaded');
      acquired += chunk.length;
      if (!first) first = chunk;
      else (chunks ??= [first]).push(chunk);
    });
    message.on('end', () =>
      end(chunks ? Buffer.concat(chunks, length) : (first ?? Buffer.alloc(0))),
    );
    // Without a listener for `error`, a client that leaves only emits `close`.
    message.on('close', () => end('client_gone'));
  });
}

export type ReadJson =
  | { ok: true; value: unknown; bytes: Buffer }
  | { ok: false; reason: 'too_large' | 'malformed' | 'client_gone' };

/** Reads a body of at most `limit` bytes as JSON, whatever its Content-Type says. */
export async function readJson(message: IncomingMessage, limit: number): Promise<ReadJson> {
  const bytes = await readBytes(message, { limit });
  if (typeof bytes === 'string')
    return { ok: false, reason: bytes === 'too_large' ? 'too_large' : 'client_gone' };
  try {
    return { ok: true, value: JSON.parse(bytes.toString('utf8')) as unknown, bytes };
  } catch {
    return { ok: false, reason: 'malformed' };
  }
}
