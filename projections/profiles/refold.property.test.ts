import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import type { ConsumedMessage, PartitionTask } from '../../platform/kafka/consumer-types.ts';
import { eventRowCodec, rowBatchCodec } from '../../schemas/codec.ts';
import type { EventRow } from '../../schemas/records.ts';
import { arbitraryEvents } from './testing/arbitrary-events.ts';
import { ProfileCache } from './cache.ts';
import { described } from './described.ts';
import { fold, gather } from './fold.ts';
import { profileKey, type Profile, type ProfileEvent } from './profile.ts';
import { refolder } from './refold.ts';
import type { RefoldRequest } from './refold-requests.ts';
import {
  FakeClickhouse,
  NO_METRICS as metrics,
  type SaveOutcome,
} from './testing/fake-clickhouse.ts';
import { specifiedProfiles } from './testing/reference-fold.ts';
import { foldTask } from './task.ts';

const EMPTY = eventRowCodec.type.fromBuffer(Buffer.alloc(4096), undefined, true) as EventRow;
const log = pino({ level: 'silent' });
/**
 * profile_refolds: a request is due until it was applied, and again when no former owner can be
 * left.
 */
class FakeRequests {
  readonly open = new Map<number, RefoldRequest>();
  #last = 0;
  sure = false;
  ask(profiles: readonly Profile[], fromOffset: number): void {
    for (const profile of profiles) {
      const same = [...this.open.values()].find(
        (one) =>
          profileKey(one.profile.accountId, one.profile.name) ===
          profileKey(profile.accountId, profile.name),
      );
      if (same) this.open.delete(same.id);
      this.open.set(++this.#last, { id: this.#last, profile, fromOffset, applied: false });
    }
  }
  due = () =>
    Promise.resolve([...this.open.values()].filter(({ applied }) => !applied || this.sure));
  applied = (ids: readonly number[]) => {
    for (const id of ids) {
      const request = this.open.get(id);
      if (request) this.open.set(id, { ...request, applied: true });
    }
    return Promise.resolve();
  };
  done = (ids: readonly number[]) => {
    for (const id of ids) this.open.delete(id);
    return Promise.resolve();
  };
}

function messagesOf(events: readonly ProfileEvent[]): ConsumedMessage[] {
  return [...Map.groupBy(events, ({ _offset }) => _offset)].map(([rawOffset, own], offset) => {
    const rows = own.map((event) => ({ ...EMPTY, ...event }));
    const head = {
      epoch: 0,
      partition: 0,
      first_offset: rawOffset,
      first_index: own[0]?._index ?? 0,
      last_offset: rawOffset,
      last_index: own.at(-1)?._index ?? 0,
      appended_at: 0,
    };
    const value = rowBatchCodec.encode({ ...head, rows });
    return { topic: 't', partition: 0, offset, timestamp: 0, key: null, value, size: value.length };
  });
}

const steps = fc.array(
  fc.record({
    who: fc.constantFrom<'owner' | 'zombie'>('owner', 'owner', 'owner', 'zombie'),
    does: fc.constantFrom<'take' | 'look' | 'ask' | 'time passes'>(
      'take',
      'take',
      'take',
      'look',
      'look',
      'ask',
      'time passes',
    ),
    records: fc.integer({ min: 1, max: 6 }),
    fate: fc.constantFrom<SaveOutcome>('stored', 'stored', 'stored', 'late', 'part', 'lost'),
    rebalance: fc.boolean(),
    arrives: fc.nat(3),
    commits: fc.boolean(),
  }),
  { maxLength: 30, size: 'max' },
);

interface Worker {
  task: PartitionTask & { look(): Promise<void> };
  position: number;
}

it('events that are added below a profile are folded in by its owner, whatever is killed, late or a zombie, and stay', async () => {
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
        const [clickhouse, requests] = [new FakeClickhouse(), new FakeRequests()];
        let committed = 0;
        let fate: SaveOutcome = 'stored';
        const lives: AbortController[] = [];
        const start = (): Worker => {
          const life = new AbortController();
          lives.push(life);
          const cache = new ProfileCache(() => cacheBytes);
          const store = clickhouse.client(
            () => fate,
            () => life.abort(new Error('killed')),
          );
          const { signal } = life;
          const task = foldTask({
            store,
            cache,
            metrics,
            log,
            foldEvents: 4,
            signal,
            onRelease: () => cache.clear(),
          });
          const tail = async function* (from: number, to: number) {
            yield await Promise.resolve(messages.slice(from, to));
          };
          const parts = {
            task,
            partition: 0,
            committed,
            requests: {
              due: requests.due,
              applied: requests.applied,
              done: requests.done,
              ask: () => Promise.resolve(),
            },
          };
          return {
            task: refolder({
              ...parts,
              tail,
              store,
              cache,
              log,
              signal,
              every: 1e8,
              refolded: () => undefined,
            }),
            position: committed,
          };
        };
        /**
         * As the tool does it: the raw log up to what is published by now, the added events among
         * it.
         */
        let asked: ProfileEvent | undefined;
        const ask = (upTo: number) => {
          const last = published.filter((event, at) => at < upTo || event === asked).at(-1);
          asked = last;
          const known = events.filter(
            (event) => last && (event._offset - last._offset || event._index - last._index) <= 0,
          );
          const gathered = gather(known);
          const folds = fold(
            gathered,
            gathered.names.map(() => undefined),
          ).changed;
          const from = messages.findIndex(
            ({ value }) =>
              rowBatchCodec.decode(value ?? Buffer.alloc(0)).last_offset >= (last?._offset ?? 0),
          );
          requests.ask(folds, Math.max(0, from));
        };
        let owner = start();
        let zombie: Worker | undefined;
        for (const step of schedule) {
          if (step.rebalance) [zombie, owner] = [owner, start()];
          fate = step.fate;
          const worker = step.who === 'owner' ? owner : zombie;
          if (step.does === 'ask') ask(step.records * 6);
          else if (step.does === 'time passes') {
            // Former owners are gone, and what they sent has arrived.
            zombie = undefined;
            for (const late of clickhouse.underway.splice(0)) clickhouse.insert(late);
            requests.sure = true;
            await owner.task.look().catch(() => (owner = start()));
            requests.sure = false;
          } else if (worker) {
            const work =
              step.does === 'look'
                ? worker.task.look().then(() => worker.position)
                : worker.task.process(
                    messages.slice(worker.position, worker.position + step.records),
                  );
            const next =
              worker.position >= messages.length && step.does === 'take'
                ? worker.position
                : await work.catch(() => undefined);
            if (next === undefined && worker === owner) owner = start();
            else if (next === undefined) zombie = undefined;
            else {
              worker.position = next;
              if (worker === owner && step.commits) committed = next;
            }
          }
          for (const late of clickhouse.underway.splice(0, step.arrives)) clickhouse.insert(late);
        }
        fate = 'stored';
        for (const late of clickhouse.underway) clickhouse.insert(late);
        owner = start();
        await owner.task.look();
        while (owner.position < messages.length)
          owner.position =
            (await owner.task.process(messages.slice(owner.position, owner.position + 3))) ??
            messages.length;
        requests.sure = true;
        await owner.task.look();
        await owner.task.look();
        for (const life of lives) life.abort(new Error('over'));
        expect(requests.open.size).toBe(0);
        // An added event counts from the last request on that has it.
        const isKnown = (event: ProfileEvent) =>
          asked && (event._offset - asked._offset || event._index - asked._index) <= 0;
        const expected = specifiedProfiles(
          events.filter((event) => published.includes(event) || isKnown(event)),
        );
        expect(
          new Map(
            [...clickhouse.states.values()].map((profile) => [
              `${profile.accountId}/${profile.name}`,
              described(profile),
            ]),
          ),
        ).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  );
});
