import kafkajs, { type Admin } from 'kafkajs';
import { withDeadline } from '../../platform/deadline.ts';
import { committedOffsets, topicEnds } from '../../platform/kafka/admin.ts';
import { kafkajsConnection, type KafkaSettings } from '../../platform/kafka/connection.ts';
import { rowBatchCodec } from '../../schemas/codec.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import { nextRecords, type HopProgress, type NextRecord, type Snapshot } from './decide.ts';
import { NORMALISER_GROUP } from './projections.ts';
import { connectRecordReader, type FoundRecord, type RecordReader } from './record-reader.ts';

const RAW = 'events.raw';
const NORMALISED = 'events.normalised';

/** A look may take longer than a request waits for it: what it finds serves the next ones. */
const LOOK_MS = 10_000;
const RECORDS_MS = 3000;

export interface LogWatch {
  /** Looks at the log now; rejects when it is away. Call one at a time. */
  look(): Promise<Snapshot>;
  close(): Promise<void>;
}

/**
 * Watches how far the normaliser and these groups on events.normalised have come, over connections
 * that stay open and are made anew after a failure.
 */
export function watchLog({
  settings,
  groups,
  name,
}: {
  settings: KafkaSettings;
  groups: readonly string[];
  name: string;
}): LogWatch {
  const records = connectRecordReader({ settings, name });
  let admin: Admin | undefined;
  let known = new Map<string, number>();

  const connectedAdmin = async () => {
    if (admin) return admin;
    const fresh = new kafkajs.Kafka({
      ...kafkajsConnection(settings, name),
      retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 6 },
    }).admin();
    await fresh.connect();
    admin = fresh;
    return fresh;
  };

  const look = async (): Promise<Snapshot> => {
    const startedAt = Date.now();
    const hops = await readHops(await connectedAdmin(), groups);
    const next = nextRecords(hops);
    const appended = await appendedTimes({ next, known, records });
    known = appended;
    return {
      startedAt,
      behind: next.map((record) => ({
        group: record.group,
        appendedAt: appended.get(keyOf(record)) ?? 0,
      })),
    };
  };

  const leave = async () => {
    const leaving = admin;
    admin = undefined;
    await leaving?.disconnect().catch(() => undefined);
  };

  return {
    async look() {
      try {
        return await withDeadline(
          { ms: LOOK_MS, waitingFor: 'the ends and offsets of the log' },
          look(),
        );
      } catch (error) {
        void leave();
        throw error;
      }
    },
    async close() {
      await Promise.all([leave(), records.close()]);
    },
  };
}

/**
 * The reads in the order on which freshUntil rests: per hop first the ends, then the offsets, and
 * the hops in the direction of the events.
 */
async function readHops(admin: Admin, groups: readonly string[]): Promise<HopProgress[]> {
  const hops: HopProgress[] = [];
  for (const [topic, readers] of [
    [RAW, [NORMALISER_GROUP]],
    [NORMALISED, groups],
  ] as const) {
    const ends = await topicEnds(admin, topic);
    const offsets = await Promise.all(
      readers.map((group) => committedOffsets(admin, group, topic)),
    );
    for (const [at, group] of readers.entries()) {
      const partitions = new Map(
        ends.map(({ partition, low, high }) => [
          partition,
          { low, end: high, committed: offsets[at]?.get(partition) },
        ]),
      );
      hops.push({ topic, group, partitions });
    }
  }
  return hops;
}

interface Wanted {
  next: readonly NextRecord[];
  /** Times of the last look: a group that stands still is not read again. */
  known: ReadonlyMap<string, number>;
  records: RecordReader;
}

async function appendedTimes({ next, known, records }: Wanted): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  const missing: NextRecord[] = [];
  for (const record of next) {
    const time = known.get(keyOf(record));
    if (time === undefined) missing.push(record);
    else times.set(keyOf(record), time);
  }
  // One group at a time, since the reader takes each partition once.
  for (const group of new Set(missing.map((record) => record.group))) {
    const wanted = missing.filter((record) => record.group === group);
    const found = await records.read(wanted, RECORDS_MS);
    for (const [index, record] of wanted.entries())
      times.set(keyOf(record), appendedToRaw(record.topic, found[index]));
  }
  return times;
}

/**
 * When the record, or for a run its first row's raw record, was appended to events.raw. Throws when
 * the bytes are no run: nothing can be promised then.
 */
function appendedToRaw(topic: string, record: FoundRecord | undefined): number {
  if (!record) throw new Error(`a record of ${topic} is missing`);
  if (topic === RAW) return record.appendedAt;
  return (
    sliceRowBatch(record.value)?.head.appended_at ?? rowBatchCodec.decode(record.value).appended_at
  );
}

function keyOf({ topic, partition, offset }: NextRecord): string {
  return `${topic}/${partition}/${offset}`;
}
