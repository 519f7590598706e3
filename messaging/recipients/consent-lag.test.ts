import { expect, it } from 'vitest';
import type { Snapshot } from '../../platform/freshness/decide.ts';
import { createFreshness } from '../../platform/freshness/freshness.ts';
import { createLog } from '../../platform/log.ts';
import { consentLag } from './consent-lag.ts';

/** A log whose state is read when somebody asks; undefined: Kafka does not answer. */
function logAt() {
  const state = { now: 1_000_000, snapshot: undefined as Omit<Snapshot, 'startedAt'> | undefined };
  const now = () => state.now;
  const freshness = createFreshness({
    fetchSnapshot: () =>
      state.snapshot
        ? Promise.resolve({ ...state.snapshot, startedAt: state.now })
        : Promise.reject(new Error('Kafka does not answer')),
    ...{ now, maxAgeMs: 5000, log: createLog({ part: 'test', level: 'silent' }) },
  });
  return { state, lag: () => consentLag(freshness, now) };
}

it('consents are as far behind as the slowest group on their way', async () => {
  const { state, lag } = logAt();
  state.snapshot = {
    behind: [
      { group: 'addresses-sink', appendedAt: state.now - 7000 },
      { group: 'events-sink', appendedAt: 0 },
    ],
  };
  expect(await lag()).toBe(7000);
  state.now += 6000;
  state.snapshot = { behind: [{ group: 'profiles-sink', appendedAt: state.now - 40_000 }] };
  expect(await lag()).toBe(40_000);
  state.now += 6000;
  state.snapshot = { behind: [] };
  expect(await lag()).toBe(0);
});

it('consents get older while Kafka does not answer, and nothing is known before it did', async () => {
  const { state, lag } = logAt();
  expect(await lag()).toBe(Infinity);
  state.snapshot = { behind: [] };
  expect(await lag()).toBe(0);
  state.snapshot = undefined;
  state.now += 29_000;
  expect(await lag()).toBe(29_000);
  state.now += 2000;
  expect(await lag()).toBe(31_000);
});
