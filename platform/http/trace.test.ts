import { describe, expect, it } from 'vitest';
import { traceOf } from './trace.ts';

describe('the trace', () => {
  it.each(['0123456789abcdef', 'deadbeef', 'a'.repeat(64)])('of a request is kept: %s', (sent) =>
    expect(traceOf(sent)).toBe(sent),
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
    expect(traceOf(sent)).toMatch(/^[0-9a-f]{16}$/);
    expect(traceOf(sent)).not.toBe(sent);
  });

  it('is different each time, also when the pool is exhausted', () => {
    expect(new Set(Array.from({ length: 3000 }, () => traceOf(undefined))).size).toBe(3000);
  });
});
