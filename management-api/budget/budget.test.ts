import { describe, expect, it } from 'vitest';
import { counterKey, rejectOverBudget } from './decide.ts';

describe('the request budget (management 8.1)', () => {
  it('has one counter per key and calendar minute', () => {
    const minute = Date.UTC(2026, 10, 21, 10, 30);
    expect(counterKey({ keyId: 7, now: minute + 59_999 })).toBe(
      counterKey({ keyId: 7, now: minute }),
    );
    expect(counterKey({ keyId: 7, now: minute + 60_000 })).not.toBe(
      counterKey({ keyId: 7, now: minute }),
    );
    expect(counterKey({ keyId: 8, now: minute })).not.toBe(counterKey({ keyId: 7, now: minute }));
  });

  it('24 heavy calls pass and the 25th is rejected', () => {
    const codes = Array.from(
      { length: 25 },
      (_, call) => rejectOverBudget({ used: (call + 1) * 25, allowance: 600 })?.code,
    );
    expect(codes.filter((code) => code === undefined)).toHaveLength(24);
    expect(codes.at(-1)).toBe('budget_exhausted');
  });
});
