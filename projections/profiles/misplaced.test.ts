import pino from 'pino';
import { expect, it } from 'vitest';
import { ProfileCache } from './cache.ts';
import { fold, groupByPerson } from './fold.ts';
import type { ProfileEvent } from './profile.ts';
import { foldTask } from './task.ts';
import { messagesOf, NO_METRICS, SimulatedProfiles } from './testing/simulated-store.ts';

const event = (partition: number, offset: number, epoch = 0): ProfileEvent => ({
  ...{
    _epoch: epoch,
    _partition: partition,
    _offset: offset,
    _index: 0,
    account_id: 1,
    event: 'x',
    user_id: 'u',
    anonymous_id: '',
  },
  ...{
    timestamp: 1,
    received_at: 1,
    revenue: 0,
    previous_id: '',
    type: 'track',
    push_provider: '',
    session_id: '',
  },
  ...{ traits: {}, trait_numbers: {}, profile: {} },
});

// Regression: a record that an operator wrote to the wrong partition of events.raw blocked its
// partition, because the worker crashed at it after every restart.
it('an event of the wrong partition stays out of the profile and does not stop the worker', () => {
  const found = fold(groupByPerson([event(1, 0), event(2, 0), event(1, 1)]), [undefined]);
  expect(found.misplaced).toHaveLength(1);
  expect(found.changed).toMatchObject([{ eventCount: 2, last: { partition: 1, offset: 1 } }]);
});

// A growth of the log may move a person to another partition, and the next one back again.
it('a profile includes the events of every generation of the log, whatever worker cached it', async () => {
  const clickhouse = new SimulatedProfiles();
  const workerOf = () => {
    const cache = new ProfileCache(() => 1e9);
    return foldTask({
      store: clickhouse.storeOf({ fateOf: () => 'stored', kill: () => undefined }),
      ...{ cache, metrics: NO_METRICS, log: pino({ level: 'silent' }), foldEvents: 100 },
      signal: new AbortController().signal,
      onRelease: () => cache.clear(),
    });
  };
  const [first, second] = [workerOf(), workerOf()];
  await first.process(messagesOf([event(0, 0, 0), event(0, 1, 0)]));
  await second.process(messagesOf([event(1, 0, 1)]));
  await first.process(messagesOf([event(0, 3, 2)]));
  await second.process(messagesOf([event(1, 5, 3)]));
  expect([...clickhouse.states.values()]).toMatchObject([
    { eventCount: 5, last: { epoch: 3, partition: 1, offset: 5 } },
  ]);
});
