import { topicEnds } from '../../platform/kafka/admin.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { candidateOf, type Candidate } from './candidate.ts';
import { ATTEMPT_MS, recoverInterrupted } from './recover.ts';
import type { RedriveTools } from './redrive-tools.ts';
import { markRowsStored, storeDeadLetterRows } from './store-rows.ts';

export interface RedriveReport {
  /** Redriven dead letters and the events in them; of a dry run: those that would be. */
  redriven: { deadLetters: number; events: number };
  /** Dead letters of a killed redrive that are in the log. */
  recovered: number;
  /** Dead letters whose events a replay of events.dead has stored. */
  replayed: number;
  /** Dead letters that would fail again, by reason; they stay as they are. */
  unready: Map<string, number>;
  /** Dead letters whose publish was not answered: the next redrive of the group recovers them. */
  uncertain: number;
}

/** Limits of the dead letters that are redriven together. */
const MAX_BATCH = { deadLetters: 50, bytes: 32 * 1024 * 1024 };

/**
 * Redrives the dead letters of a group, ordered by position. One of the normaliser becomes a new
 * raw record; the rows of one of the sink are stored under their original positions. Before a dead
 * letter is published, the intent is written with the high watermark of the partition: after a
 * crash the next redrive searches the log from there.
 */
export async function redriveGroup(
  tools: RedriveTools,
  { group, limit, dryRun }: { group: string; limit: number; dryRun: boolean },
): Promise<RedriveReport> {
  const report: RedriveReport = {
    redriven: { deadLetters: 0, events: 0 },
    replayed: 0,
    unready: new Map(),
    ...(dryRun ? { recovered: 0, uncertain: 0 } : await recoverInterrupted(tools, group)),
  };
  let after: string | undefined;
  for (let left = limit; left > 0;) {
    const batch = await nextBatch(tools, { group, limit: left, after });
    if (batch.length === 0) break;
    for (const one of batch) {
      if (one.kind === 'unready') countUnready(report, one.why);
      if (one.kind === 'replayed') {
        report.replayed++;
        if (!dryRun) await markReplayed(tools, one);
      }
      if (dryRun && (one.kind === 'raw' || one.kind === 'rows')) countRedriven(report, one);
    }
    if (!dryRun) {
      await publishBatch(
        tools,
        batch.filter((one) => one.kind === 'raw'),
        report,
      );
      for (const one of batch) if (one.kind === 'rows') await storeOne(tools, one, report);
    }
    left -= batch.length;
    after = batch.at(-1)?.known.key;
  }
  return report;
}

async function nextBatch(
  tools: RedriveTools,
  { group, limit, after }: { group: string; limit: number; after: string | undefined },
): Promise<Candidate[]> {
  const known = await tools.store.ofGroup(group, {
    state: 'dead',
    limit: Math.min(limit, MAX_BATCH.deadLetters),
    after,
  });
  const batch: Candidate[] = [];
  let bytes = 0;
  for (const one of known) {
    if (batch.length > 0 && bytes > MAX_BATCH.bytes) break;
    const candidate = await candidateOf(tools, one);
    bytes += candidate.bytes;
    batch.push(candidate);
  }
  return batch;
}

async function markReplayed(
  { store, attempt }: RedriveTools,
  { known: { key, offset } }: Candidate,
): Promise<void> {
  const mine = await store.begin([{ key, rawEnd: null }], attempt);
  if (mine.has(key)) await store.redriven([{ key, to: offset }], attempt);
}

type RawCandidate = Extract<Candidate, { kind: 'raw' }>;
type RowsCandidate = Extract<Candidate, { kind: 'rows' }>;

async function publishBatch(
  { admin, store, attempt, publish, now }: RedriveTools,
  candidates: readonly RawCandidate[],
  report: RedriveReport,
): Promise<void> {
  if (candidates.length === 0) return;
  const raw = await topicEnds(admin, TOPIC.raw);
  const ends = new Map(raw.map(({ partition, high }) => [partition, high]));
  const began = now();
  const mine = await store.begin(
    candidates.map(({ known, partition }) => ({
      key: known.key,
      rawEnd: ends.get(partition) ?? 0,
    })),
    attempt,
  );
  // After a pause of this process another one may have taken the dead letters over.
  if (now() - began > ATTEMPT_MS / 3) {
    await store.release([...mine], attempt);
    throw new Error('PostgreSQL did not answer in time: nothing was redriven; run it again');
  }
  const done: { key: string; to: number }[] = [];
  const publishOne = async (one: RawCandidate) => {
    const { partition, key, records } = one;
    let to = 0;
    for (const record of records)
      to = await publish({ partition, key, value: rawRecordCodec.encode(record) });
    done.push({ key: one.known.key, to });
    countRedriven(report, one);
  };
  const outcomes = await Promise.allSettled(
    candidates.filter(({ known }) => mine.has(known.key)).map(publishOne),
  );
  report.uncertain += outcomes.filter(({ status }) => status === 'rejected').length;
  await store.redriven(done, attempt);
}

async function storeOne(
  { store, attempt, eventsTable, database }: RedriveTools,
  one: RowsCandidate,
  report: RedriveReport,
): Promise<void> {
  const { rows, version, partition } = one;
  const { key, index } = one.known;
  if (!(await store.begin([{ key, rawEnd: null }], attempt)).has(key)) return;
  const outcome = await storeDeadLetterRows(eventsTable, { key, rows, version, partition });
  switch (outcome.kind) {
    case 'stored': {
      // Only single rows are counted as dead (pipeline/metering/count.ts).
      const counted = index === null ? [] : rows;
      if (await markRowsStored(database, { key, attempt, counted })) countRedriven(report, one);
      return;
    }
    case 'unready':
      await store.release([key], attempt);
      countUnready(report, outcome.why);
      return;
    case 'uncertain':
      report.uncertain++;
  }
}

function countUnready({ unready }: RedriveReport, why: string): void {
  unready.set(why, (unready.get(why) ?? 0) + 1);
}

function countRedriven({ redriven }: RedriveReport, one: RawCandidate | RowsCandidate): void {
  redriven.deadLetters++;
  redriven.events += one.kind === 'raw' ? one.events : one.rows.length;
}
