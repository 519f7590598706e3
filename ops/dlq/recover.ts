import { delay } from '../../platform/backoff.ts';
import { offsetsAt, topicEnds } from '../../platform/kafka/admin.ts';
import { redriveKey } from '../../pipeline/dead-letters/redriven-record.ts';
import { decodeIfReadable, rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { prepare, type Candidate } from './candidate.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';
import { prefetch } from './prefetch.ts';
import { MAX_BATCH, type RedriveTools } from './redrive-tools.ts';

/** Within this time a redrive has published or failed: above the timeout of its producer, ms. */
export const ATTEMPT_MS = 15_000;
/** Covers the timeout of the producer and the clock skew between PostgreSQL and Kafka, ms. */
const MAX_DELAY_MS = 120_000;
const SEARCH_LIMITS = { records: 5_000_000, ms: 300_000 };
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
      await store.ofGroup(group, { state: 'redriving', limit: MAX_BATCH.deadLetters })
    ).filter((one) => one.attempt !== attempt);
    if (open.length === 0) break;
    const youngest = Math.min(...open.map(({ attempt_age: age }) => age ?? 0));
    if (youngest < ATTEMPT_MS) await delay(ATTEMPT_MS - youngest + 100);
    const mine = await store.takeOver(open, attempt);
    for (let left = open.filter(({ key }) => mine.has(key)); left.length > 0;) {
      const { tools: own, ready } = await prefetch(tools, left);
      left = left.slice(ready.length);
      for (const result of await recoverBatch(own, ready))
        if (result !== 'released') total[result]++;
    }
  }
  return total;
}

type Recovery = 'recovered' | 'uncertain' | 'released';

/** Decides dead letters together: each partition of the raw log is searched once. */
async function recoverBatch(
  tools: RedriveTools,
  ready: readonly DeadLetterRow[],
): Promise<Recovery[]> {
  const candidates = await Promise.all(ready.map((known) => prepare(tools, known)));
  const attempts = candidates.flatMap((candidate): PublishAttempt[] => {
    const { known } = candidate;
    if (candidate.kind !== 'raw' || known.raw_end === null) return [];
    const { records, partition } = candidate;
    const from = { partition, rawEnd: known.raw_end, at: known.attempt_at ?? 0 };
    return records.map((record) => ({ ...from, record }));
  });
  const published = new Map<RawRecord, number>();
  for (const [partition, some] of Map.groupBy(attempts, (one) => one.partition))
    for (const [record, offset] of await findPublished(tools, partition, some))
      published.set(record, offset);
  const results: Recovery[] = [];
  for (const candidate of candidates) results.push(await recoverOne(tools, candidate, published));
  return results;
}

async function recoverOne(
  { store, attempt, publish }: RedriveTools,
  candidate: Candidate,
  published: ReadonlyMap<RawRecord, number>,
): Promise<Recovery> {
  const { known } = candidate;
  // Without the record its copy in the log cannot be identified.
  if (candidate.kind === 'unready') return 'uncertain';
  if (candidate.kind === 'raw') {
    const { records, partition, key } = candidate;
    const found = records.flatMap((record) => published.get(record) ?? []);
    if (found.length > 0) {
      const missing = records.filter((record) => !published.has(record));
      if (missing.length > 0 && !(await store.continues(known.key, attempt))) return 'uncertain';
      for (const record of missing)
        found.push(await publish({ partition, key, value: rawRecordCodec.encode(record) }));
      await store.redriven([{ key: known.key, to: Math.max(...found) }], attempt);
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
 * Searches, in one pass, what the partition received from the beginning of the attempts until two
 * minutes after the last. Resolves with the offsets of the published records; the others never
 * reached the log. Rejects when the search does not reach the end: nothing is known then.
 */
async function findPublished(
  { admin, reader }: RedriveTools,
  partition: number,
  attempts: readonly PublishAttempt[],
): Promise<Map<RawRecord, number>> {
  const until = Math.max(...attempts.map(({ at }) => at)) + MAX_DELAY_MS;
  const offsets = await offsetsAt(admin, TOPIC.raw, until);
  const ends = await topicEnds(admin, TOPIC.raw);
  const high = ends.find((one) => one.partition === partition)?.high ?? 0;
  const from = Math.min(...attempts.map(({ rawEnd }) => rawEnd));
  const to = Math.min(high, offsets.get(partition) ?? high);
  const wanted = new Map(attempts.map((one) => [redriveKey(one.record), one]));
  const found = new Map<RawRecord, number>();
  const read = await reader.search(
    { topic: TOPIC.raw, partition, from, to, limits: SEARCH_LIMITS },
    ({ offset, value }) => {
      const published = decodeIfReadable(rawRecordCodec, value);
      const one = published && wanted.get(redriveKey(published));
      if (!one || offset < one.rawEnd) return undefined;
      found.set(one.record, offset);
      return found.size === wanted.size ? 'found' : undefined;
    },
  );
  if (read.ended === 'limit')
    throw new Error(
      `events.raw ${partition} received too many records since the redrive began (offset ${from}): run the command again`,
    );
  return found;
}
