import { describe, expect, it } from 'vitest';
import { isTraceparent, tracesNamedBy, traceOf } from './trace.ts';

describe('the trace', () => {
  it.each(['0123456789abcdef', 'deadbeef', 'a'.repeat(64)])('of a request is kept: %s', (sent) =>
    expect(traceOf(sent, undefined)).toBe(sent),
  );

  it.each([
    undefined,
    '',
    'abcdef0',
    'DEADBEEF',
    'a'.repeat(65),
    'deadbeeg',
    'deadbeef\n',
    'deadbeef, deadbeef',
  ])('of a request is replaced: %j', (sent) => {
    expect(traceOf(sent, undefined)).toMatch(/^[0-9a-f]{16}$/);
    expect(traceOf(sent, undefined)).not.toBe(sent);
  });

  it('is different each time, also when the pool is exhausted', () => {
    expect(new Set(Array.from({ length: 3000 }, () => traceOf(undefined, undefined))).size).toBe(
      3000,
    );
  });
});

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

describe('a traceparent (W3C Trace Context)', () => {
  it.each([
    PARENT,
    `00-${TRACE_ID}-00f067aa0ba902b7-00`,
    // Later versions may append fields.
    `cc-${TRACE_ID}-00f067aa0ba902b7-01`,
    `cc-${TRACE_ID}-00f067aa0ba902b7-01-what-comes-later`,
  ])('gives the request the end of its trace-id: %s', (parent) => {
    expect(traceOf(undefined, parent)).toBe('a3ce929d0e0e4736');
    expect(traceOf('no trace', parent)).toBe('a3ce929d0e0e4736');
  });

  it('is ignored beside a valid X-Service-Trace, which the specification echoes', () => {
    expect(traceOf('deadbeef', PARENT)).toBe('deadbeef');
  });

  it.each([
    '',
    '00',
    TRACE_ID,
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `ff-${TRACE_ID}-00f067aa0ba902b7-01`,
    `0-${TRACE_ID}-00f067aa0ba902b7-01`,
    `00-${TRACE_ID}-00f067aa0ba902b7-01-more`,
    `00-${TRACE_ID}-00f067aa0ba902b7-1`,
    `cc-${TRACE_ID}-00f067aa0ba902b7-01.more`,
    PARENT.toUpperCase(),
    ` ${PARENT}`,
    `${PARENT}\n`,
    `${PARENT}, ${PARENT}`,
    PARENT.replace('4bf9', '4bg9'),
  ])('that is invalid is ignored: %j', (parent) => {
    expect(isTraceparent(parent)).toBe(false);
    expect(traceOf(undefined, parent)).toMatch(/^(?!a3ce929d0e0e4736)[0-9a-f]{16}$/);
  });

  it('is found by its trace-id, which a client may also have sent as X-Service-Trace', () => {
    expect(tracesNamedBy(TRACE_ID)).toEqual([TRACE_ID, 'a3ce929d0e0e4736']);
    expect(tracesNamedBy('deadbeef')).toEqual(['deadbeef']);
    expect(tracesNamedBy('a'.repeat(64))).toEqual(['a'.repeat(64)]);
  });
});
