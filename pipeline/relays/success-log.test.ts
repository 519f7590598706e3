import { describe, expect, test } from 'vitest';
import { SuccessLog } from './success-log.ts';

describe('the log of successes', () => {
  test('admits so many a second of each relay, and in total', () => {
    const log = new SuccessLog({ loggedPerRelay: 2, logged: 3 });
    const admitted = [1, 1, 1, 2, 2].map((relayId) => log.admits(relayId, 5000));
    expect(admitted).toEqual([true, true, false, true, false]);
    expect(log.admits(1, 5999)).toBe(false);
    expect(log.admits(1, 6000)).toBe(true);
  });
});
