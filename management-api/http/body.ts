import type { IncomingMessage } from 'node:http';

export type ReadBody =
  | { ok: true; value: unknown; bytes: Buffer }
  | { ok: false; reason: 'too_long' | 'not_json' | 'cut' };

/**
 * Reads a body of at most `limit` bytes as JSON, whatever its Content-Type claims. What lies past
 * the limit is not kept.
 */
export async function readJson(message: IncomingMessage, limit: number): Promise<ReadBody> {
  if (Number(message.headers['content-length'] ?? 0) > limit)
    return { ok: false, reason: 'too_long' };
  const bytes = await readBytes(message, limit);
  if (!Buffer.isBuffer(bytes)) return { ok: false, reason: bytes };
  try {
    return { ok: true, value: JSON.parse(bytes.toString('utf8')) as unknown, bytes };
  } catch {
    return { ok: false, reason: 'not_json' };
  }
}

async function readBytes(
  message: IncomingMessage,
  limit: number,
): Promise<Buffer | 'too_long' | 'cut'> {
  const chunks: Buffer[] = [];
  let length = 0;
  return await new Promise((resolve) => {
    const settle = (outcome: Buffer | 'too_long' | 'cut') => {
      message.off('data', take).off('end', end).off('error', cut).off('close', cut);
      resolve(outcome);
    };
    const take = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= limit) return;
      // The rest flows away unread; requestTimeout bounds for how long.
      message.resume();
      settle('too_long');
    };
    const end = () => settle(Buffer.concat(chunks, length));
    const cut = () => settle('cut');
    message.on('data', take).on('end', end).on('error', cut).on('close', cut);
  });
}
