import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import { deadLetterCodec } from '../../schemas/codec.ts';
import { ClusterModel } from './testing/cluster-model.ts';
import { ProcessModel } from './testing/process-model.ts';
import {
  sampleEvent,
  sampleMessage,
  sampleRecord,
  sampleBatch,
} from '../../events/testing/raw-records.ts';

const MESSAGES = ['a', 'b', 'c', 'd', 'e', 'f'];

/**
 * A raw record: message ids, an undecodable value, or `again`, which repeats the acceptance of the
 * previous record.
 */
const record = fc.oneof(
  { weight: 8, arbitrary: fc.array(fc.constantFrom(...MESSAGES), { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constant('poison' as const) },
  { weight: 1, arbitrary: fc.constant('again' as const) },
);
type Sent = string[] | 'poison' | 'again';

const incident = fc.record({
  after: fc.nat(25),
  what: fc.constantFrom('kill', 'move', 'flush', 'restart', 'restart'),
  lost: fc.nat(6),
  sweeps: fc.boolean(),
  whose: fc.nat(1),
});
const scenario = fc.record({
  logs: fc.tuple(fc.array(record, { maxLength: 8 }), fc.array(record, { maxLength: 8 })),
  joined: fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
  incidents: fc.array(incident, { maxLength: 8 }),
  seed: fc.nat(),
  batch: fc.integer({ min: 1, max: 4 }),
});

const killOf = (whose: number, after: number) => ({
  ...{ after, what: 'kill' as const, lost: 0, sweeps: false, whose },
});
/**
 * A duplicate whose first event is not published yet, in a record of which a later row is; then
 * Redis loses both claims. The record is decided again, and the duplicate must stay one.
 */
const DECIDED_TWICE = {
  logs: [[['d']], [['d', 'a']]] as [Sent[], Sent[]],
  incidents: [
    killOf(0, 1),
    killOf(0, 2),
    { ...killOf(0, 0), what: 'restart' as const, lost: 2 },
    killOf(1, 1),
  ],
  ...{ seed: 18, batch: 1, joined: [false] },
};

/** @param joined whether a record is in one batch with the one before it; repeated */
function rawLog(partition: number, sent: readonly Sent[], joined: readonly boolean[]) {
  let sequence = 0;
  let last = sampleRecord([sampleEvent('a')], { gateway: `gateway-${partition}`, sequence: 0 });
  const records = sent.map((one) => {
    if (one === 'poison') return { items: 2, value: Buffer.from('poison') };
    if (one !== 'again') {
      sequence += 10;
      last = sampleRecord(
        one.map((id) => sampleEvent(id)),
        { gateway: `gateway-${partition}`, sequence },
      );
    }
    return last;
  });
  const offsets = offsetsOf(sent, joined);
  return [...Map.groupBy(records, (_, at) => offsets[at] ?? 0)].map(([offset, some]) => {
    const [first] = some;
    const only = first && ('value' in first ? first.value : first);
    return sampleMessage(only && some.length === 1 ? only : sampleBatch(some), {
      partition,
      offset,
    });
  });
}

function offsetsOf(sent: readonly Sent[], joined: readonly boolean[]): number[] {
  let offset = -1;
  return sent.map((_, at) => (at > 0 && joined[at % joined.length] ? offset : ++offset));
}

const acceptedIn = (logs: readonly (readonly Sent[])[]) =>
  new Set(
    logs.flatMap((log) =>
      log.flatMap((sent, at) =>
        sent === 'poison' ? [] : sent === 'again' ? idsAgain(log, at) : sent,
      ),
    ),
  );
const idsAgain = (log: readonly Sent[], at: number): string[] => {
  const before = log.slice(0, at).findLast((sent) => Array.isArray(sent));
  return Array.isArray(before) ? before : ['a'];
};

describe('the normaliser (G2)', () => {
  it('publishes exactly one row per accepted message id, across crashes, rebalances and losses of Redis', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async ({ logs, joined, incidents, seed, batch }) => {
        const cluster = new ClusterModel(
          logs.map((log, partition) => rawLog(partition, log, joined)),
        );
        let started = 0;
        let random = seed;
        const newInstance = () =>
          new ProcessModel(cluster, { name: `instance-${started++}`, batch });
        const instances = [newInstance(), newInstance()] as const;
        const current: ProcessModel[] = [...instances];
        cluster.assign(instances[0], [0]);
        cluster.assign(instances[1], [1]);
        const steps = async (max: number) => {
          for (let step = 0; step < max; step++) {
            random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
            if (!(await cluster.step(random >>> 16))) return;
          }
        };

        for (const { after, what, whose, lost, sweeps } of incidents) {
          if (sweeps) for (const instance of current) instance.sweep();
          await steps(after);
          const owner = current.find((instance) => instance === cluster.owners.get(whose));
          if (what === 'flush') cluster.flush(current);
          if (what === 'restart') cluster.restart(current, lost);
          if (what === 'move')
            cluster.assign(current.find((instance) => instance !== owner) ?? newInstance(), [
              whose,
            ]);
          if (what === 'kill' && owner) {
            owner.kill();
            const replacement = newInstance();
            current.splice(current.indexOf(owner), 1, replacement);
            cluster.assign(
              replacement,
              [0, 1].filter((partition) => cluster.owners.get(partition) === owner),
            );
          }
        }
        await steps(10_000);

        const rows = [...cluster.rows(0), ...cluster.rows(1)].map(({ message_id }) => message_id);
        expect(rows.toSorted()).toEqual([...acceptedIn(logs)].toSorted());
        const deadLetters = (cluster.topics.get('events.dead/0') ?? []).map((value) =>
          deadLetterCodec.decode(value),
        );
        const poison = logs.flatMap((log, partition) =>
          log.flatMap((sent, at) =>
            sent === 'poison' ? [`${partition}/${offsetsOf(log, joined)[at]}`] : [],
          ),
        );
        expect(
          [
            ...new Set(deadLetters.map(({ partition, offset }) => `${partition}/${offset}`)),
          ].toSorted(),
        ).toEqual([...new Set(poison)].toSorted());
        for (const [partition, log] of logs.entries())
          expect(cluster.committed.get(partition) ?? 0).toBe(
            (offsetsOf(log, joined).at(-1) ?? -1) + 1,
          );
      }),
      { numRuns: drawnRuns(600), examples: [[DECIDED_TWICE]] },
    );
  });
});
