import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { ProfileCache } from './cache.ts';
import { described } from './described.ts';
import type { ProfileEvent } from './profile.ts';
import {
  FakeClickhouse,
  NO_METRICS as metrics,
  type SaveOutcome,
} from './testing/fake-clickhouse.ts';
import { specifiedProfiles } from './testing/reference-fold.ts';
import { foldTask } from './task.ts';

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const log = pino({ level: 'silent' });
interface Worker {
  task: PartitionTask;
  position: number;
}

const steps = fc.array(
  fc.record({
    /**
     * A zombie has lost the partition and does not know it yet: it goes on, but commits nothing.
     */
    who: fc.constantFrom<'owner' | 'zombie'>('owner', 'owner', 'owner', 'zombie'),
    records: fc.integer({ min: 1, max: 6 }),
    fate: fc.constantFrom<SaveOutcome>('stored', 'stored', 'stored', 'late', 'part', 'lost'),
    rebalance: fc.boolean(),
    arrives: fc.nat(3),
    commits: fc.boolean(),
  }),
  { maxLength: 25 },
);

function messagesOf(events: readonly ProfileEvent[]): ConsumedMessage[] {
  const byOffset = Map.groupBy(events, ({ _offset }) => _offset);
  return [...byOffset.values()].map((own, offset) => {
    const rows = own.map((event) => ({ ...EMPTY, ...event }));
    const [first, last] = [own[0]?._index ?? 0, own.at(-1)?._index ?? 0];
    const head = {
      epoch: 0,
      partition: 0,
      first_offset: offset,
      first_index: first,
      last_offset: offset,
      last_index: last,
      appended_at: 0,
    };
    const value = rowBatchCodec.encode({ ...head, rows });
    return { topic: 't', partition: 0, offset, timestamp: 0, key: null, value, size: value.length };
  });
}

it('killed workers, late inserts, zombies, lost commits and a cache of any size leave exactly the fold', async () => {
  await fc.assert(
    fc.asyncProperty(
      arbitraryEvents({ maxLength: 50 }),
      steps,
      fc.constantFrom(1, 5000, 1e9),
      async (events, schedule, cacheBytes) => {
        const messages = messagesOf(events);
        const clickhouse = new FakeClickhouse();
        let committed = 0;
        let fate: SaveOutcome = 'stored';
        const start = (): Worker => {
          const life = new AbortController();
          const cache = new ProfileCache(() => cacheBytes);
          const store = clickhouse.client(
            () => fate,
            () => life.abort(new Error('killed')),
          );
          const task = foldTask({
            store,
            cache,
            metrics,
            log,
            foldEvents: 4,
            signal: life.signal,
            onRelease: () => cache.clear(),
          });
          return { task, position: committed };
        };
        const take = async (worker: Worker, records: number): Promise<number | undefined> => {
          const next = await worker.task
            .process(messages.slice(worker.position, worker.position + records))
            .catch(() => undefined);
          if (next !== undefined) worker.position = next;
          return next;
        };
        let owner = start();
        let zombie: Worker | undefined;
        for (const step of schedule) {
          if (step.rebalance) [zombie, owner] = [owner, start()];
          fate = step.fate;
          const worker = step.who === 'owner' ? owner : zombie;
          if (worker && worker.position < messages.length) {
            const next = await take(worker, step.records);
            if (next === undefined && worker === owner) owner = start();
            else if (next === undefined) zombie = undefined;
            else if (worker === owner && step.commits) committed = next;
          }
          for (const late of clickhouse.underway.splice(0, step.arrives)) clickhouse.insert(late);
        }
        fate = 'stored';
        owner = start();
        while (owner.position < messages.length) await take(owner, 3);
        if (zombie && zombie.position < messages.length) await take(zombie, 2);
        for (const late of clickhouse.underway) clickhouse.insert(late);
        const found = new Map(
          [...clickhouse.states.values()].map((profile) => [
            `${profile.accountId}/${profile.name}`,
            described(profile),
          ]),
        );
        expect(found).toEqual(specifiedProfiles(events));
      },
    ),
    { numRuns: 300 },
  );
});
