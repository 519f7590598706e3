import type { Socket } from 'node:net';
import type { ClientClock } from './client-clock.ts';

/** A connection on which nothing is being done for its client: it can be closed to make room. */
export interface WaitingConnection {
  socket: Socket;
  /**
   * What its end costs the client. `unused`: nothing, for it has sent no request that is accepted;
   * `idle`: a new connection for the next request; `slow`: the request that it sends or the answer
   * that it reads.
   */
  kind: 'unused' | 'idle' | 'slow';
  /** Since when, ms of the ClientClock. */
  since: number;
}

const SLOW_AFTER_MS = 5000;
/** A tenth of the slowest mobile uplinks. */
const SLOW_BYTES_PER_SECOND = 1024;

/** True when a body hardly arrives: a client that holds a connection with it loses nothing. */
export function isSlowBody(
  { startedAt, readAt, bytes }: { startedAt: number; readAt: number; bytes: number },
  clock: ClientClock,
): boolean {
  const elapsed = clock.since(startedAt);
  if (elapsed <= SLOW_AFTER_MS) return false;
  return isSilent(readAt, clock) || bytes * 1000 < SLOW_BYTES_PER_SECOND * elapsed;
}

export function isSilent(since: number, clock: ClientClock): boolean {
  return clock.since(since) > SLOW_AFTER_MS;
}
