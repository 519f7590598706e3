import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import { rowBatchCodec } from '../../schemas/codec.ts';
import { ProfileCache } from './cache.ts';
import { fold, groupByPerson } from './fold.ts';
import type { ProfileEvent } from './profile.ts';
import { refoldingTask } from './refold.ts';
import { foldTask } from './task.ts';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { specifiedProfiles } from './testing/reference-fold.ts';
import { SimulatedRequests } from './testing/simulated-requests.ts';
import { messagesOf, NO_METRICS, SimulatedProfiles, type Fate } from './testing/simulated-store.ts';

const log = pino({ level: 'silent' });

const steps = fc.array(
  fc.record({
    who: fc.constantFrom<'owner' | 'zombie'>('owner', 'owner', 'owner', 'zombie'),
    does: fc.constantFrom<'process' | 'apply' | 'request' | 'time passes'>(
      'process',
      'process',
      'process',
      'apply',
      'apply',
      'request',
      'time passes',
    ),
    records: fc.integer({ min: 1, max: 6 }),
    fate: fc.constantFrom<Fate>('stored', 'stored', 'stored', 'late', 'part', 'lost'),
    rebalance: fc.boolean(),
    delivered: fc.nat(3),
    commits: fc.boolean(),
  }),
  { maxLength: 30, size: 'max' },
);

interface Worker {
  task: ReturnType<typeof refoldingTask>;
  position: number;
}

it('the owner folds events that are added below a profile, and they stay, whatever is killed, late or a zombie', async () => {
  const dead = fc.array(fc.boolean(), { minLength: 40, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(
      arbitraryEvents({ maxLength: 40 }),
      dead,
      steps,
      fc.constantFrom(1, 1e9),
      async (events, isDead, schedule, cacheBytes) => {
        const published = events.filter((_, at) => isDead[at] !== true);
        const messages = messagesOf(published);
        const [clickhouse, requests] = [new SimulatedProfiles(), new SimulatedRequests()];
        let committed = 0;
        let fate: Fate = 'stored';
        const lives: AbortController[] = [];
        const startWorker = (): Worker => {
          const life = new AbortController();
          lives.push(life);
          const cache = new ProfileCache(() => cacheBytes);
          const store = clickhouse.storeOf({
            fateOf: () => fate,
            kill: () => life.abort(new Error('killed')),
          });
          const { signal } = life;
          const task = foldTask({
            store,
            cache,
            metrics: NO_METRICS,
            log,
            foldEvents: 4,
            signal,
            onRelease: () => cache.clear(),
          });
          const readLog = async function* (from: number, to: number) {
            yield await Promise.resolve(messages.slice(from, to));
          };
          const refolding = refoldingTask({
            task,
            partition: 0,
            committed,
            requests,
            readLog,
            store,
            cache,
            log,
            signal,
            interval: 1e8,
            refolded: () => undefined,
          });
          return { task: refolding, position: committed };
        };
        let lastRequested: ProfileEvent | undefined;
        /** As a replay does it: folds the raw log, added events included, up to a published one. */
        const requestRefolds = async (upTo: number) => {
          const last = published.filter((event, at) => at < upTo || event === lastRequested).at(-1);
          lastRequested = last;
          const grouped = groupByPerson(events.filter((event) => isUpTo(event, last)));
          const none = grouped.people.map(() => undefined);
          const from = messages.findIndex(
            ({ value }) =>
              rowBatchCodec.decode(value ?? Buffer.alloc(0)).last_offset >= (last?._offset ?? 0),
          );
          await requests.add(
            fold(grouped, none).changed.map((profile) => ({
              profile,
              fromOffset: Math.max(0, from),
            })),
          );
        };
        let owner = startWorker();
        let zombie: Worker | undefined;
        for (const step of schedule) {
          if (step.rebalance) [zombie, owner] = [owner, startWorker()];
          fate = step.fate;
          const worker = step.who === 'owner' ? owner : zombie;
          if (step.does === 'request') await requestRefolds(step.records * 6);
          else if (step.does === 'time passes') {
            // Former owners are gone, and their inserts have arrived.
            zombie = undefined;
            clickhouse.deliver();
            requests.formerOwnersGone = true;
            await owner.task.applyRequests().catch(() => (owner = startWorker()));
            requests.formerOwnersGone = false;
          } else if (worker) {
            const { task, position } = worker;
            const result =
              step.does === 'apply'
                ? task.applyRequests().then(() => position)
                : task.process(messages.slice(position, position + step.records));
            const next =
              position >= messages.length && step.does === 'process'
                ? position
                : await result.catch(() => undefined);
            if (next === undefined && worker === owner) owner = startWorker();
            else if (next === undefined) zombie = undefined;
            else {
              worker.position = next;
              if (worker === owner && step.commits) committed = next;
            }
          }
          clickhouse.deliver(step.delivered);
        }
        fate = 'stored';
        clickhouse.deliver();
        owner = startWorker();
        await owner.task.applyRequests();
        while (owner.position < messages.length)
          owner.position =
            (await owner.task.process(messages.slice(owner.position, owner.position + 3))) ??
            messages.length;
        requests.formerOwnersGone = true;
        await owner.task.applyRequests();
        await owner.task.applyRequests();
        for (const life of lives) life.abort(new Error('the test is over'));
        expect(requests.open.size).toBe(0);
        // An added event counts from the last request that includes it.
        const counted = events.filter(
          (event) => published.includes(event) || isUpTo(event, lastRequested),
        );
        expect(clickhouse.described()).toEqual(specifiedProfiles(counted));
      },
    ),
    { numRuns: 300 },
  );
});

function isUpTo(event: ProfileEvent, last: ProfileEvent | undefined): boolean {
  return last !== undefined && (event._offset - last._offset || event._index - last._index) <= 0;
}
