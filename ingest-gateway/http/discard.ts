import type { IncomingMessage } from 'node:http';
import { awaitTurn, FREE_BYTES } from '../../platform/http/read-body.ts';
import type { Turns } from '../../platform/http/turns.ts';

/** Up to this an unwanted body is read, so that the client gets its answer and not a reset. */
export const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/**
 * Reads and drops the rest of a body. Resolves with true when the connection can be used again:
 * false when the body is too long or the client has left. HttpConnections bounds the time. Long
 * bodies are read in turns of the clients' addresses.
 */
export function discard(request: IncomingMessage, turns: Turns): Promise<boolean> {
  if (request.complete || request.destroyed) return Promise.resolve(true);
  const turn = turns.of(request.socket.remoteAddress ?? '');
  return new Promise((resolve) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DISCARDED_BYTES) resolve(false);
      if (bytes > FREE_BYTES) awaitTurn(request, turn);
    });
    request.on('end', () => resolve(true));
    request.on('error', () => resolve(false));
    request.on('close', () => resolve(false));
  });
}
