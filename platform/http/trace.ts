import { randomFillSync } from 'node:crypto';

/** Header of the trace, on requests and answers. */
export const TRACE_HEADER = 'x-service-trace';

const VALID = /^[0-9a-f]{8,64}$/;
const TRACE_BYTES = 8;

/** Random bytes for 512 traces at a time: one system call each would be too many. */
const pool = Buffer.alloc(TRACE_BYTES * 512);
let used = pool.length;

/**
 * The trace of a request: the client's when it has 8 to 64 lower-case hexadecimal characters,
 * otherwise a new one of 16 (ingest 7.5, management 7.8).
 */
export function traceOf(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && isTrace(sent) ? sent : newTrace();
}

export function isTrace(text: string): boolean {
  return VALID.test(text);
}

export function newTrace(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool.toString('hex', used, (used += TRACE_BYTES));
}
