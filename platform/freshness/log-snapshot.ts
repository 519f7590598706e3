import { withDeadline } from '../deadline.ts';
import type { KafkaSettings } from '../kafka/connection.ts';
import type { ConsumedMessage } from '../kafka/consumer-types.ts';
import { GroupProgress } from '../kafka/group-progress.ts';
import { RangeReader } from '../kafka/read-range.ts';
import { rowBatchCodec } from '../../schemas/codec.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import { nextRecords, type HopProgress, type NextRecord, type Snapshot } from './decide.ts';
import { hopsOf, type Projection, type TopicReaders } from './projections.ts';
import { TOPIC } from '../../schemas/topology.ts';

/** A snapshot may take longer than a request waits for it: later requests use it. */
const SNAPSHOT_MS = 10_000;
const RECORDS_MS = 3000;

export interface LogSnapshots {
  /** One call at a time. Rejects when Kafka is unavailable. */
  fetch(): Promise<Snapshot>;
  close(): Promise<void>;
}

/**
 * Progress of the groups behind these projections, over connections that stay open and are reopened
 * after a failure.
 */
export function logSnapshots({
  settings,
  projections,
  name,
}: {
  settings: KafkaSettings;
  projections: readonly Projection[];
  name: string;
}): LogSnapshots {
  const reader = new RangeReader({ settings, clientId: name, profile: 'single' });
  const progress = new GroupProgress({ settings, clientId: name });
  const readers = hopsOf(projections);
  let known = new Map<string, number>();

  const fetchOnce = async (): Promise<Snapshot> => {
    const startedAt = Date.now();
    const hops = await readHops(progress, readers);
    const next = nextRecords(hops);
    const appended = await appendTimes({ next, known, reader });
    known = appended;
    return {
      startedAt,
      behind: next.map((record) => ({
        group: record.group,
        appendedAt: appended.get(keyOf(record)) ?? 0,
      })),
    };
  };

  return {
    fetch: () =>
      withDeadline({ ms: SNAPSHOT_MS, waitingFor: 'the ends and offsets of the log' }, fetchOnce()),
    async close() {
      await Promise.all([progress.close(), reader.close()]);
    },
  };
}

/**
 * freshUntil relies on this order: per hop first the high watermarks, then the committed offsets,
 * and the hops in the direction of the events.
 */
async function readHops(
  progress: GroupProgress,
  readers: readonly TopicReaders[],
): Promise<HopProgress[]> {
  const hops: HopProgress[] = [];
  for (const { topic, groups } of readers) {
    const ends = await progress.ends(topic);
    const partitions = ends.map(({ partition }) => partition);
    const offsets = await Promise.all(
      groups.map((group) => progress.committed(group, { topic, partitions })),
    );
    for (const [at, group] of groups.entries()) {
      const byPartition = new Map(
        ends.map(({ partition, low, high }) => [
          partition,
          { low, end: high, committed: offsets[at]?.get(partition) },
        ]),
      );
      hops.push({ topic, group, partitions: byPartition });
    }
  }
  return hops;
}

interface Query {
  next: readonly NextRecord[];
  /** Times of the last snapshot: a group that makes no progress is not read again. */
  known: ReadonlyMap<string, number>;
  reader: RangeReader;
}

async function appendTimes({ next, known, reader }: Query): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  const missing: NextRecord[] = [];
  for (const record of next) {
    const time = known.get(keyOf(record));
    if (time === undefined) missing.push(record);
    else times.set(keyOf(record), time);
  }
  for await (const [position, message] of reader.firstRecords(missing, RECORDS_MS))
    times.set(keyOf(position), appendedAt(message));
  return times;
}

/**
 * When the record was appended, or for a row batch its first raw record to events.raw. Throws when
 * the value is no row batch: its freshness is unknown then.
 */
function appendedAt({ topic, timestamp, value }: ConsumedMessage): number {
  if (topic !== TOPIC.normalised) return timestamp;
  if (!value) throw new Error(`a record of ${topic} has no value`);
  return sliceRowBatch(value)?.head.appended_at ?? rowBatchCodec.decode(value).appended_at;
}

function keyOf({ topic, partition, offset }: NextRecord): string {
  return `${topic}/${partition}/${offset}`;
}
