import type { EpochStart } from '../../../platform/log/epochs.ts';
import type { Contradiction, LogEnds, RecordEvidence } from '../../../platform/log/evidence.ts';
import type { TopicPartition } from '../../../platform/log/evidence-store.ts';
import { TOPIC } from '../../../schemas/topology.ts';

/** What a reader knows about a partition, and whether the log contradicts it. */
export interface KnownEvidence extends RecordEvidence {
  reader: string;
  contradiction: Contradiction | undefined;
  /** First offset that was appended after the evidence; undefined: none, or its time is unknown. */
  appendedAfter: number | undefined;
}

/** The committed offset of a group. */
export interface GroupPosition {
  group: string;
  committed: number | undefined;
}

/** A partition of a topic as it is now. */
export interface PartitionFacts extends TopicPartition, LogEnds {
  epochs: readonly EpochStart[];
  evidence: readonly KnownEvidence[];
  groups: readonly GroupPosition[];
}

/** Readers whose evidence is about the first record: the topic is another one. */
export interface PlanOptions {
  firstRecord: string;
}

/**
 * From where on the records are not those that were read before; undefined: the log did not go
 * back, as far as is known. All that was read before has been appended before the newest evidence.
 */
export function boundaryOf(
  { low, high, evidence, groups }: PartitionFacts,
  { firstRecord }: PlanOptions,
): number | undefined {
  const found = evidence
    .filter(({ contradiction }) => contradiction !== undefined)
    .map(({ reader, next, appendedAfter }) =>
      // The last record that was read is not there any more.
      reader === firstRecord ? low : Math.min(next - 1, high, appendedAfter ?? high),
    );
  if (groups.some(({ committed = 0 }) => committed > high)) found.push(high);
  return found.length === 0 ? undefined : Math.max(low, Math.min(...found));
}

/** A partition in which a new epoch begins. */
export interface NewEpoch extends TopicPartition {
  epoch: number;
  firstOffset: number;
  /** Offset of the next record when the command ran. */
  end: number;
  /** `follows`: its records are the same, and name records of a partition that went back. */
  reason: 'went_back' | 'follows';
}

/** A group continues at `to` instead of `from`. */
export interface GroupMove extends TopicPartition {
  group: string;
  from: number;
  to: number;
}

/** What `./ravand log advance-epoch` does; stored before it begins. */
export interface AdvancePlan {
  epochs: NewEpoch[];
  moves: GroupMove[];
  /** Claims of lost events would suppress the same events when they are sent again. */
  removesClaims: boolean;
}

/** Topics whose records name offsets of events.raw or events.normalised of the same partition. */
const DERIVED: readonly string[] = [TOPIC.normalised, TOPIC.verdicts];

/**
 * The plan for partitions whose log went back. `boundaries`: by `keyOf`. `derivedFrom`: where the
 * normaliser must continue, so that what is gone from the topics that it writes is written again.
 */
export function planAdvance({
  partitions,
  boundaries,
  derivedFrom,
  normaliser,
}: {
  partitions: readonly PartitionFacts[];
  boundaries: ReadonlyMap<string, number>;
  derivedFrom: ReadonlyMap<number, number>;
  /** The group of the normaliser. */
  normaliser: string;
}): AdvancePlan {
  const epochs = newEpochs(partitions, boundaries);
  const moves: GroupMove[] = [];
  for (const { topic, partition, groups } of partitions) {
    const boundary = boundaries.get(keyOf({ topic, partition })) ?? Number.POSITIVE_INFINITY;
    for (const { group, committed } of groups) {
      if (committed === undefined) continue;
      const derived =
        group === normaliser && topic === TOPIC.raw ? derivedFrom.get(partition) : undefined;
      const to = Math.min(committed, boundary, derived ?? committed);
      if (to < committed) moves.push({ topic, partition, group, from: committed, to });
    }
  }
  const removesClaims = epochs.some(
    ({ topic, reason }) => topic === TOPIC.raw && reason === 'went_back',
  );
  return { epochs, moves, removesClaims };
}

/**
 * One number for all: what is derived from a record names the epoch in which it was derived
 * (epochAsOf). A partition that is derived from one that went back begins it at its end, and so
 * does events.dead.
 */
function newEpochs(
  partitions: readonly PartitionFacts[],
  boundaries: ReadonlyMap<string, number>,
): NewEpoch[] {
  if (boundaries.size === 0) return [];
  const newest = partitions.flatMap(({ epochs }) => epochs.map(({ epoch }) => epoch));
  const epoch = Math.max(0, ...newest) + 1;
  const wentBack = new Set(
    partitions
      .filter(
        (one) =>
          boundaries.has(keyOf(one)) && (one.topic === TOPIC.raw || DERIVED.includes(one.topic)),
      )
      .map(({ partition }) => partition),
  );
  return partitions.flatMap(({ topic, partition, high: end }): NewEpoch[] => {
    const boundary = boundaries.get(keyOf({ topic, partition }));
    const common = { topic, partition, epoch, end };
    if (boundary !== undefined) return [{ ...common, firstOffset: boundary, reason: 'went_back' }];
    const isFollowing =
      topic === TOPIC.dead || (DERIVED.includes(topic) && wentBack.has(partition));
    return isFollowing ? [{ ...common, firstOffset: end, reason: 'follows' }] : [];
  });
}

export function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}
