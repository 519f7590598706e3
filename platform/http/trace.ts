import { randomFillSync } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Header of the trace, on requests and answers. */
export const TRACE_HEADER = 'x-service-trace';
/** Header of W3C Trace Context. */
export const TRACEPARENT_HEADER = 'traceparent';

const VALID = /^[0-9a-f]{8,64}$/;
const TRACE_BYTES = 8;

/** Random bytes for 512 traces at a time: one system call each would be too many. */
const pool = Buffer.alloc(TRACE_BYTES * 512);
let used = pool.length;

/** Characters of a trace that the client did not choose itself. */
const TRACE_LENGTH = 2 * TRACE_BYTES;

/**
 * The trace of a request: the client's when it has 8 to 64 lower-case hexadecimal characters,
 * otherwise one of 16 (ingest 7.5, management 7.8): the end of the trace-id in `traceparent`, or a
 * new one. Tracing systems with short ids use the end as well: that part of it is random.
 * @param sent values of X-Service-Trace and of traceparent
 */
export function traceOf(
  sent: string | string[] | undefined,
  traceparent: string | string[] | undefined,
): string {
  if (typeof sent === 'string' && isTrace(sent)) return sent;
  if (typeof traceparent === 'string' && isTraceparent(traceparent))
    return traceparent.slice(TRACE_ID_END - TRACE_LENGTH, TRACE_ID_END);
  return newTrace();
}

/** The trace of a request with these headers. */
export function traceIn(headers: IncomingHttpHeaders): string {
  return traceOf(headers[TRACE_HEADER], headers[TRACEPARENT_HEADER]);
}

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?![^-])/;
const TRACE_ID_END = '00-'.length + 32;
/** Of version 00; later versions may be longer. */
const TRACEPARENT_LENGTH = 55;

/** Whether a header is a valid traceparent: of version 00, or one of a later version. */
export function isTraceparent(text: string): boolean {
  return (text.length === TRACEPARENT_LENGTH || !text.startsWith('00-')) && TRACEPARENT.test(text);
}

/** The traces of which a person may have this one: a trace-id of traceparent is stored in short. */
export function tracesNamedBy(trace: string): string[] {
  return trace.length === 32 ? [trace, trace.slice(-TRACE_LENGTH)] : [trace];
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
