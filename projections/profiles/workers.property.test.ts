import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import type { PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { ProfileCache } from './cache.ts';
import { foldTask } from './task.ts';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { specifiedProfiles } from './testing/reference-fold.ts';
import { messagesOf, NO_METRICS, SimulatedProfiles, type Fate } from './testing/simulated-store.ts';

const log = pino({ level: 'silent' });

interface Worker {
  task: PartitionTask;
  position: number;
}

const steps = fc.array(
  fc.record({
    /** A zombie lost its partition without noticing: it continues, but its commits fail. */
    who: fc.constantFrom<'owner' | 'zombie'>('owner', 'owner', 'owner', 'zombie'),
    records: fc.integer({ min: 1, max: 6 }),
    fate: fc.constantFrom<Fate>('stored', 'stored', 'stored', 'late', 'part', 'lost'),
    rebalance: fc.boolean(),
    delivered: fc.nat(3),
    commits: fc.boolean(),
  }),
  { maxLength: 25 },
);

it('the stored profiles are exactly the fold of the events, whatever workers are killed, late or zombies, for every cache size and every limit of a load', async () => {
  await fc.assert(
    fc.asyncProperty(
      arbitraryEvents({ maxLength: 50 }),
      steps,
      fc.constantFrom(1, 5000, 1e9),
      fc.constantFrom(1, 2, 100),
      async (events, schedule, cacheBytes, maxLoad) => {
        const messages = messagesOf(events);
        const clickhouse = new SimulatedProfiles();
        let committed = 0;
        let fate: Fate = 'stored';
        const startWorker = (): Worker => {
          const life = new AbortController();
          const cache = new ProfileCache(() => cacheBytes);
          const task = foldTask({
            store: clickhouse.storeOf({
              fateOf: () => fate,
              maxLoad,
              kill: () => life.abort(new Error('killed')),
            }),
            cache,
            metrics: NO_METRICS,
            log,
            foldEvents: 4,
            signal: life.signal,
            onRelease: () => cache.clear(),
          });
          return { task, position: committed };
        };
        const processNext = async (
          worker: Worker,
          records: number,
        ): Promise<number | undefined> => {
          const next = await worker.task
            .process(messages.slice(worker.position, worker.position + records))
            .catch(() => undefined);
          if (next !== undefined) worker.position = next;
          return next;
        };
        let owner = startWorker();
        let zombie: Worker | undefined;
        for (const step of schedule) {
          if (step.rebalance) [zombie, owner] = [owner, startWorker()];
          fate = step.fate;
          const worker = step.who === 'owner' ? owner : zombie;
          if (worker && worker.position < messages.length) {
            const next = await processNext(worker, step.records);
            if (next === undefined && worker === owner) owner = startWorker();
            else if (next === undefined) zombie = undefined;
            else if (worker === owner && step.commits) committed = next;
          }
          clickhouse.deliver(step.delivered);
        }
        fate = 'stored';
        owner = startWorker();
        while (owner.position < messages.length) await processNext(owner, 3);
        if (zombie && zombie.position < messages.length) await processNext(zombie, 2);
        clickhouse.deliver();
        expect(clickhouse.described()).toEqual(specifiedProfiles(events));
      },
    ),
    { numRuns: 300 },
  );
});
