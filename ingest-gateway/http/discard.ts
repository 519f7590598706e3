import type { IncomingMessage } from 'node:http';

/** Up to this an unwanted body is read, so that the client gets its answer and not a reset. */
export const MAX_DISCARDED_BYTES = 32 * 1024 * 1024;

/**
 * Reads and drops the rest of a body. Resolves with true when the connection can be used again:
 * false when the body is too long or the client has left. HttpConnections bounds the time.
 */
export function discard(request: IncomingMessage): Promise<boolean> {
  if (request.complete || request.destroyed) return Promise.resolve(true);
  return new Promise((resolve) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DISCARDED_BYTES) resolve(false);
    });
    request.on('end', () => resolve(true));
    request.on('error', () => resolve(false));
    request.on('close', () => resolve(false));
  });
}
