import { delay } from '../../platform/backoff.ts';
import { offsetsAt, topicEnds } from '../../platform/kafka/admin.ts';
import { isRedriveOf } from '../../pipeline/dead-letters/redriven-record.ts';
import { decodeIfReadable, rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { prepare } from './candidate.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';
import type { RedriveTools } from './redrive-tools.ts';

/** Within this time a redrive has published or failed: above the timeout of its producer, ms. */
export const ATTEMPT_MS = 15_000;
/** Covers the timeout of the producer and the clock skew between PostgreSQL and Kafka, ms. */
const MAX_DELAY_MS = 120_000;
const SEARCH_LIMITS = { records: 5_000_000, ms: 300_000 };
const DEAD_LETTERS_PER_ROUND = 50;
const MAX_ROUNDS = 1000;

export interface Recovered {
  /** Dead letters of killed redrives that are in the log. */
  recovered: number;
  /** Dead letters that cannot be decided now: the next redrive of the group tries again. */
  uncertain: number;
}

/**
 * Decides the dead letters of redrives that were killed or whose publish failed: what is in the log
 * is redriven, the rest is dead again.
 */
export async function recoverInterrupted(tools: RedriveTools, group: string): Promise<Recovered> {
  const { store, attempt } = tools;
  const total: Recovered = { recovered: 0, uncertain: 0 };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const open = (
      await store.ofGroup(group, { state: 'redriving', limit: DEAD_LETTERS_PER_ROUND })
    ).filter((one) => one.attempt !== attempt);
    if (open.length === 0) break;
    const youngest = Math.min(...open.map(({ attempt_age: age }) => age ?? 0));
    if (youngest < ATTEMPT_MS) await delay(ATTEMPT_MS - youngest + 100);
    const mine = await store.takeOver(open, attempt);
    for (const known of open) {
      if (!mine.has(known.key)) continue;
      const result = await recoverOne(tools, known);
      if (result !== 'released') total[result]++;
    }
  }
  return total;
}

async function recoverOne(
  tools: RedriveTools,
  known: DeadLetterRow,
): Promise<'recovered' | 'uncertain' | 'released'> {
  const { store, attempt, publish } = tools;
  const candidate = await prepare(tools, known);
  // Without the record its copy in the log cannot be identified.
  if (candidate.kind === 'unready') return 'uncertain';
  if (candidate.kind === 'raw' && known.raw_end !== null) {
    const { records, partition, key } = candidate;
    const search = { partition, rawEnd: known.raw_end, at: known.attempt_at ?? 0 };
    const found: (number | undefined)[] = [];
    for (const record of records) found.push(await findPublished(tools, { ...search, record }));
    if (found.some((to) => to !== undefined)) {
      const missing = records.filter((_, at) => found[at] === undefined);
      if (missing.length > 0 && !(await store.continues(known.key, attempt))) return 'uncertain';
      for (const record of missing)
        found.push(await publish({ partition, key, value: rawRecordCodec.encode(record) }));
      const to = Math.max(...found.map((offset) => offset ?? 0));
      await store.redriven([{ key: known.key, to }], attempt);
      return 'recovered';
    }
  }
  // Storing rows again is idempotent: they have positions.
  await store.release([known.key], attempt);
  return 'released';
}

interface PublishAttempt {
  record: RawRecord;
  partition: number;
  /** High watermark of the partition before the attempt published. */
  rawEnd: number;
  /** When the attempt began, ms since the epoch. */
  at: number;
}

/**
 * Searches what the partition received from the beginning of the attempt until two minutes later.
 * Resolves with the offset of the published record, with undefined when it never reached the log.
 * Rejects when the search does not reach the end: nothing is known then.
 */
async function findPublished(
  { admin, reader }: RedriveTools,
  { record, partition, rawEnd, at }: PublishAttempt,
): Promise<number | undefined> {
  const offsets = await offsetsAt(admin, TOPIC.raw, at + MAX_DELAY_MS);
  const ends = await topicEnds(admin, TOPIC.raw);
  const high = ends.find((one) => one.partition === partition)?.high ?? 0;
  const to = Math.min(high, offsets.get(partition) ?? high);
  let found: number | undefined;
  const read = await reader.search(
    { topic: TOPIC.raw, partition, from: rawEnd, to, limits: SEARCH_LIMITS },
    ({ offset, value }) => {
      const published = decodeIfReadable(rawRecordCodec, value);
      if (!published || !isRedriveOf(published, record)) return undefined;
      found = offset;
      return 'found';
    },
  );
  if (read.ended === 'limit')
    throw new Error(
      `events.raw ${partition} received too many records since the redrive began (offset ${rawEnd}): run the command again`,
    );
  return found;
}
