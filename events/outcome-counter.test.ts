import { describe, expect, it } from 'vitest';
import { OutcomeCounter } from './outcome-counter.ts';

describe('the counts of a request', () => {
  const CODES = ['generated_message_id', 'invalid_phone', 'timestamp_in_future'];

  it.each([
    ['ever new fields', (at: number) => ({ field: `field${at}`, sdk: '' })],
    ['ever new SDKs', (at: number) => ({ field: '', sdk: `sdk${at}` })],
    ['ever new fields and SDKs', (at: number) => ({ field: `field${at}`, sdk: `sdk${at}` })],
  ])('are bounded and complete for a client that invents %s', (_, of) => {
    const counter = new OutcomeCounter();
    for (let at = 0; at < 5000; at++)
      for (const code of CODES) counter.add({ kind: 'warn', code, ...of(at) });
    expect(counter.counts.length).toBeLessThanOrEqual(320 + CODES.length);
    for (const code of CODES) {
      const own = counter.counts.filter((count) => count.code === code);
      expect(own.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
    }
  });
});
