import { topicEnds } from '../../platform/kafka/admin.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { candidateOf, type Candidate } from './candidate.ts';
import { prefetch } from './prefetch.ts';
import { ATTEMPT_MS, recoverInterrupted } from './recover.ts';
import { MAX_BATCH, type RedriveTools } from './redrive-tools.ts';
import { markRowsStored, storeDeadLetterRows } from './store-rows.ts';

export interface RedriveReport {
  /** Redriven dead letters and the events in them; of a dry run: those that would be. */
  redriven: { deadLetters: number; events: number };
  /** Dead letters of a killed redrive that are in the log. */
  recovered: number;
  /** Dead letters whose events a replay of an earlier release has stored. */
  replayed: number;
  /** Dead letters that would fail again, by reason; they stay as they are. */
  unready: Map<string, number>;
  /** Dead letters whose publish was not answered: the next redrive of the group recovers them. */
  uncertain: number;
}

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
      await storeBatch(
        tools,
        batch.filter((one) => one.kind === 'rows'),
        report,
      );
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
  const { tools: own, ready } = await prefetch(tools, known);
  return Promise.all(ready.map((one) => candidateOf(own, one)));
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
  // After a pause of this process another one may have ready the dead letters over.
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

/** Stores the rows of many dead letters in one insert for each partition and version of rows. */
async function storeBatch(
  tools: RedriveTools,
  candidates: readonly RowsCandidate[],
  report: RedriveReport,
): Promise<void> {
  const together = Map.groupBy(candidates, (one) => `${one.partition}/${one.version}`);
  for (const some of together.values()) {
    const mine = await tools.store.begin(
      some.map(({ known: { key } }) => ({ key, rawEnd: null })),
      tools.attempt,
    );
    const own = some.filter(({ known: { key } }) => mine.has(key));
    if (own.length > 0) await storeRows(tools, own, { report, refused: { inserts: 0 } });
  }
}

/** Refused inserts of one batch: after them the rest is left for another redrive. */
const MAX_REFUSED = 50;

/** Rows that ClickHouse refuses together are halved until the refused ones are alone. */
async function storeRows(
  tools: RedriveTools,
  own: readonly RowsCandidate[],
  { report, refused }: { report: RedriveReport; refused: { inserts: number } },
): Promise<void> {
  const { store, attempt, eventsTable, database } = tools;
  const [{ partition, version }] = own as readonly [RowsCandidate];
  const keys = own.map(({ known: { key } }) => key);
  const rows = own.flatMap((one) => one.rows);
  const outcome = await storeDeadLetterRows(eventsTable, { keys, rows, version, partition });
  switch (outcome.kind) {
    case 'stored': {
      // Only single rows are counted as dead (pipeline/metering/count.ts).
      const stored = own.map(({ known: { key, index }, rows: counted }) => ({
        key,
        counted: index === null ? [] : counted,
      }));
      const marked = await markRowsStored(database, { stored, attempt });
      for (const one of own) if (marked.has(one.known.key)) countRedriven(report, one);
      return;
    }
    case 'unready':
      if (own.length > 1 && ++refused.inserts < MAX_REFUSED) {
        const half = Math.ceil(own.length / 2);
        await storeRows(tools, own.slice(0, half), { report, refused });
        await storeRows(tools, own.slice(half), { report, refused });
        return;
      }
      await store.release(keys, attempt);
      countUnready(report, outcome.why, own.length);
      return;
    case 'uncertain':
      report.uncertain += own.length;
  }
}

function countUnready({ unready }: RedriveReport, why: string, count = 1): void {
  unready.set(why, (unready.get(why) ?? 0) + count);
}

function countRedriven({ redriven }: RedriveReport, one: RawCandidate | RowsCandidate): void {
  redriven.deadLetters++;
  redriven.events += one.kind === 'raw' ? one.events : one.rows.length;
}
