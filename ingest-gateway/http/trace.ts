import { randomFillSync } from 'node:crypto';

const HONOURED = /^[0-9a-f]{8,64}$/;
const TRACE_BYTES = 8;

/** Random bytes are drawn for many traces at once. */
const pool = Buffer.alloc(TRACE_BYTES * 512);
let used = pool.length;

/**
 * The trace of a request: the client's when it is 8 to 64 lower-case hexadecimal characters,
 * otherwise a new one of 16 (ingest 7.5).
 */
export function traceOf(sent: string | string[] | undefined): string {
  if (typeof sent === 'string' && HONOURED.test(sent)) return sent;
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool.toString('hex', used, (used += TRACE_BYTES));
}
