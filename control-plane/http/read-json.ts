import type { IncomingMessage } from 'node:http';

export type ReadBytes = { ok: true; bytes: Buffer } | { ok: false; reason: 'too_long' | 'cut' };
export type ReadBody =
  { ok: true; value: unknown } | { ok: false; reason: 'too_long' | 'not_json' | 'cut' };

/**
 * Reads a body of at most `limit` bytes; what lies past it flows away unread, for at most the time
 * of a request.
 */
export async function readBytes(message: IncomingMessage, limit: number): Promise<ReadBytes> {
  if (Number(message.headers['content-length'] ?? 0) > limit) {
    message.resume();
    return { ok: false, reason: 'too_long' };
  }
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Without destroyOnReturn: false the connection would be gone before it is answered.
    for await (const chunk of message.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > limit) {
        message.resume();
        return { ok: false, reason: 'too_long' };
      }
      chunks.push(chunk);
    }
  } catch {
    return { ok: false, reason: 'cut' };
  }
  return { ok: true, bytes: Buffer.concat(chunks, length) };
}

/** Reads a body as JSON. */
export async function readJson(message: IncomingMessage, limit: number): Promise<ReadBody> {
  const read = await readBytes(message, limit);
  if (!read.ok) return read;
  try {
    return { ok: true, value: JSON.parse(read.bytes.toString('utf8')) as unknown };
  } catch {
    return { ok: false, reason: 'not_json' };
  }
}
