import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { ProfileCache } from './cache.ts';
import { described } from './described.ts';
import { profileKey, type Profile, type ProfileEvent } from './profile.ts';
import { specifiedProfiles } from './testing/reference-fold.ts';
import type { ProfileStore } from './store.ts';
import { foldTask } from './task.ts';

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const log = pino({ level: 'silent' });
const metrics = {
  folded: () => undefined,
  unreadable: () => undefined,
  misplaced: () => undefined,
  refolded: () => undefined,
};

/**
 * What becomes of a save: it is stored; or the worker dies, and what it sent is stored later, in
 * part, or never.
 */
type Fate = 'stored' | 'late' | 'part' | 'lost';

/** ReplacingMergeTree as a map: of two states of a name the one with more events stays. */
class FakeClickhouse {
  readonly states = new Map<string, Profile>();
  /** Inserts of dead workers that ClickHouse has not carried out yet. */
  readonly underway: Profile[][] = [];

  insert(profiles: readonly Profile[]): void {
    for (const profile of profiles) {
      const key = profileKey(profile.accountId, profile.name);
      if (profile.eventCount > (this.states.get(key)?.eventCount ?? 0))
        this.states.set(key, profile);
    }
  }

  client(fateOf: () => Fate, die: () => void): ProfileStore {
    return {
      load: () => Promise.resolve(new Map(this.states)),
      save: (profiles) => {
        const fate = fateOf();
        if (fate === 'stored') {
          this.insert(profiles);
          return Promise.resolve();
        }
        if (fate === 'late') this.underway.push([...profiles]);
        if (fate === 'part') this.insert(profiles.slice(0, Math.ceil(profiles.length / 2)));
        die();
        return Promise.reject(new Error('killed'));
      },
    };
  }
}

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
    fate: fc.constantFrom<Fate>('stored', 'stored', 'stored', 'late', 'part', 'lost'),
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
        let fate: Fate = 'stored';
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
