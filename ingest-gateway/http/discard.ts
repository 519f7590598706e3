import type { IncomingMessage } from 'node:http';

/**
 * A body that nobody wants is read up to this, so that the client gets its answer instead of a
 * broken connection.
 */
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Reads what is left of a body and throws it away; resolves when it is over, or there is too much
 * of it, or the client has gone. Answers true when the connection can go on. How long it may take
 * is bounded by the server's requestTimeout.
 */
export function discard(request: IncomingMessage): Promise<boolean> {
  if (request.complete || request.destroyed) return Promise.resolve(true);
  return new Promise((resolve) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) resolve(false);
    });
    request.on('end', () => resolve(true));
    request.on('error', () => resolve(false));
    request.on('close', () => resolve(false));
  });
}
