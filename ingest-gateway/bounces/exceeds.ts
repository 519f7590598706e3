import type { IncomingMessage } from 'node:http';
import { awaitTurn, FREE_BYTES } from '../../platform/http/read-body.ts';
import type { TakeTurn } from '../../platform/http/turns.ts';

/** Whether a body that nobody keeps is longer than `limit` bytes; it is read to know that. */
export function exceeds(
  request: IncomingMessage,
  { limit, turn }: { limit: number; turn: TakeTurn },
): Promise<boolean> {
  const declared = request.headers['content-length'];
  if (declared !== undefined) return Promise.resolve(Number(declared) > limit);
  if (request.complete || request.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    let bytes = 0;
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limit) end(true);
      else if (bytes > FREE_BYTES) awaitTurn(request, turn);
    };
    const end = (isLonger: boolean) => {
      request.off('data', count);
      resolve(isLonger);
    };
    request.on('data', count);
    request.on('end', () => end(false));
    request.on('error', () => end(false));
    request.on('close', () => end(false));
  });
}
