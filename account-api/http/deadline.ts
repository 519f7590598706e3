import type { ServerResponse } from 'node:http';

/** The remaining time of the listener for writing the answer, ms. */
const MARGIN = 500;

interface Watched {
  response: ServerResponse;
  /**
   * Time of the listener for a whole answer, ms; then the connection is closed (management 8.4).
   */
  write: number;
  /** Time of the handler, ms; a little less than the listener's, so that errors still get out. */
  handler: number;
}

/** Bounds a request: aborts when its time is over or the client disconnects. */
export function watchRequest({ response, write, handler }: Watched): { signal: AbortSignal } {
  const controller = new AbortController();
  const allowed = handler === write ? handler - MARGIN : handler;
  const handlerTimer = setTimeout(
    () => controller.abort(new Error(`the handler took longer than ${allowed} ms`)),
    allowed,
  );
  const writeTimer = setTimeout(() => response.socket?.destroy(), write);
  response.once('close', () => {
    clearTimeout(handlerTimer);
    clearTimeout(writeTimer);
    if (!response.writableFinished) controller.abort(new Error('the client closed the connection'));
  });
  return { signal: controller.signal };
}
