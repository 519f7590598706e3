import { FIRST_RECORD } from '../../../platform/log/decisive.ts';
import type { LogProbe } from '../../../platform/kafka/log-probe.ts';
import type { RangeReader } from '../../../platform/kafka/read-range.ts';
import { epochAt } from '../../../platform/log/epochs.ts';
import { GROUP, TOPIC } from '../../../schemas/topology.ts';
import type { Connections } from '../../jobs/connections.ts';
import { derivedFrom } from './derived-from.ts';
import { boundaryOf, keyOf, planAdvance, type AdvancePlan, type PartitionFacts } from './plan.ts';
import { confirmBoundary } from './raw-boundary.ts';
import { readFacts } from './read-facts.ts';

/** Compares the log with everything that is known of it. A plan without epochs: it agrees. */
export async function makePlan(
  connections: Connections,
  { probe, reader }: { probe: LogProbe; reader: RangeReader },
): Promise<AdvancePlan> {
  const { admin, database, clickhouse } = connections;
  const partitions = await readFacts({ admin, database, probe });
  const boundaries = new Map<string, number>();
  for (const one of partitions) {
    const boundary = boundaryOf(one, { firstRecord: FIRST_RECORD });
    if (boundary !== undefined) boundaries.set(keyOf(one), boundary);
  }
  for (const { topic, partition, low, epochs } of partitions) {
    const boundary = boundaries.get(keyOf({ topic, partition }));
    if (topic !== TOPIC.raw || boundary === undefined) continue;
    const epochOf = (offset: number) => epochAt(epochs, offset);
    const of = { partition, low, boundary, epochOf };
    boundaries.set(keyOf({ topic, partition }), await confirmBoundary({ reader, clickhouse }, of));
  }
  return planAdvance({
    ...{ partitions, boundaries, normaliser: GROUP.normaliser },
    derivedFrom: await whereToDerive(reader, partitions, boundaries),
  });
}

/** By raw partition: where the normaliser continues because a topic that it writes lost records. */
async function whereToDerive(
  reader: RangeReader,
  partitions: readonly PartitionFacts[],
  boundaries: ReadonlyMap<string, number>,
): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const dead = partitions.filter(({ topic }) => topic === TOPIC.dead);
  const written: readonly string[] = [TOPIC.normalised, TOPIC.verdicts, TOPIC.dead];
  const newest = Math.max(0, ...partitions.flatMap(({ epochs }) => epochs.map((one) => one.epoch)));
  for (const raw of partitions.filter(({ topic }) => topic === TOPIC.raw)) {
    const rawBoundary = boundaries.get(keyOf(raw));
    // The records from the boundary on come after everything that was derived before.
    const rawEpochs =
      rawBoundary === undefined
        ? raw.epochs
        : [...raw.epochs, { epoch: newest + 1, firstOffset: rawBoundary }];
    for (const one of partitions) {
      const boundary = boundaries.get(keyOf(one));
      const isOwn =
        one.topic === TOPIC.dead
          ? one.partition === raw.partition % dead.length
          : one.partition === raw.partition;
      if (boundary === undefined || !isOwn || !written.includes(one.topic)) continue;
      const { topic, partition, low, epochs } = one;
      const at = await derivedFrom(reader, {
        ...{ topic, partition, low, boundary, epochs },
        raw: { partition: raw.partition, low: raw.low, epochs: rawEpochs },
      });
      found.set(raw.partition, Math.min(at, found.get(raw.partition) ?? at));
    }
  }
  return found;
}
