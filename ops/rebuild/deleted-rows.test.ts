import { expect, it } from 'vitest';
import type { EventRow } from '../../schemas/records.ts';
import { keptBy } from './deleted-rows.ts';

const DAY = 86_400_000;
const now = 1000 * DAY;
const row = (account_id: number, timestamp: number, received_at = timestamp) =>
  ({ account_id, timestamp, received_at }) as EventRow;

it('a rebuilt table holds a row until retention has deleted and booked it, even when it has expired', () => {
  const limits = new Map([[1, [{ below: now - 31 * DAY, receivedBefore: now - DAY }]]]);
  const retentions = new Map([
    [1, 30],
    [2, 30],
  ]);
  const isKept = keptBy(limits, { retentions, now });
  expect(isKept(row(1, now - 32 * DAY))).toBe(false);
  // Expired since the last run: the next one deletes and books it.
  expect(isKept(row(1, now - 30.5 * DAY))).toBe(true);
  // Received too late for the last run.
  expect(isKept(row(1, now - 32 * DAY, now))).toBe(true);
  expect(isKept(row(1, now - 401 * DAY, now))).toBe(false);
  // Of an account whose retention has not run since the upgrade.
  expect(isKept(row(2, now - 30.5 * DAY))).toBe(false);
  expect(isKept(row(3, now - 399 * DAY))).toBe(true);
});

it('limits of a retention that was shortened and lengthened again stay beside each other', () => {
  const limits = new Map([
    [
      1,
      [
        { below: now - 30 * DAY, receivedBefore: now - 20 * DAY },
        { below: now - 60 * DAY, receivedBefore: now - DAY },
      ],
    ],
  ]);
  const isKept = keptBy(limits, { retentions: new Map([[1, 60]]), now });
  expect(isKept(row(1, now - 40 * DAY, now - 25 * DAY))).toBe(false);
  expect(isKept(row(1, now - 40 * DAY, now - 10 * DAY))).toBe(true);
});
