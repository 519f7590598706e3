import { describe, expect, it } from 'vitest';
import { Sampler, traceIdOf } from './sampler.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const header = (flags: string) => `00-${TRACE_ID}-${SPAN_ID}-${flags}`;
const kinds = (sampler: Sampler, traceparent: string | undefined, now = 0) =>
  Array.from({ length: 5 }, () => sampler.sample(traceparent, { chance: 0, now }).kind);

describe('a request without a valid traceparent', () => {
  it.each([undefined, '', 'no header', header('01').replace('00-', 'ff-')])(
    'is sampled by chance: %s',
    (traceparent) => {
      const sampler = new Sampler({ percent: 10, perSecond: 100 });
      const sample = (chance: number) => sampler.sample(traceparent, { chance, now: 0 }).kind;
      expect([sample(0), sample(0.099), sample(0.1), sample(0.99)]).toEqual([
        ...['root', 'root', 'no', 'no'],
      ]);
    },
  );

  it('is never sampled at 0 per cent, and so many a second at most', () => {
    expect(kinds(new Sampler({ percent: 0, perSecond: 5 }), undefined)).not.toContain('root');
    const sampler = new Sampler({ percent: 100, perSecond: 2 });
    expect(kinds(sampler, undefined, 5000)).toEqual(['root', 'root', 'no', 'no', 'no']);
    expect(kinds(sampler, undefined, 6000)).toEqual(['root', 'root', 'no', 'no', 'no']);
  });
});

describe('a request with a traceparent', () => {
  it('continues its trace when its flag says so, and is not sampled otherwise', () => {
    const sampler = new Sampler({ percent: 100, perSecond: 100 });
    const sample = (flags: string) => sampler.sample(header(flags), { chance: 0, now: 0 });
    const child = { kind: 'child', of: { traceId: TRACE_ID, spanId: SPAN_ID } };
    expect([sample('01'), sample('03'), sample('ff')]).toEqual([child, child, child]);
    expect([sample('00'), sample('02')]).toEqual([{ kind: 'no' }, { kind: 'no' }]);
  });

  it('cannot use up what others are sampled with', () => {
    const sampler = new Sampler({ percent: 100, perSecond: 2 });
    expect(kinds(sampler, header('01'))).toEqual(['child', 'child', 'no', 'no', 'no']);
    expect(kinds(sampler, undefined)).toEqual(['root', 'root', 'no', 'no', 'no']);
  });
});

it('the id of a new trace ends with the X-Service-Trace of its request, or is the end of a longer one', () => {
  const random = 'ab'.repeat(16);
  expect(traceIdOf('0123456789abcdef', random)).toBe(`${'ab'.repeat(8)}0123456789abcdef`);
  expect(traceIdOf('deadbeef', random)).toBe(`${'ab'.repeat(12)}deadbeef`);
  expect(traceIdOf(`${'7'.repeat(32)}${TRACE_ID}`, random)).toBe(TRACE_ID);
  // Such an id is not valid.
  expect(traceIdOf('0'.repeat(64), random)).toBe(random);
});
