import { TOPIC } from '../../schemas/topology.ts';
import type { Admin } from 'kafkajs';
import { delay } from '../../platform/backoff.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { EventsTable } from '../../projections/events/events-table.ts';
import type { EncodedRow } from '../../projections/events/decode.ts';
import { redrivenRecord } from '../../pipeline/dead-letters/redriven-record.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import type { RawRecord } from '../../schemas/records.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import { tryRecord } from './try-record.ts';
import type { DeadLetterRow, DeadLetterStore } from './dead-letter-store.ts';
import { failedBytes, readDeadLetter } from './read-dead-letter.ts';
import { findPublished } from './recover.ts';
import {
  rowsOfDeadLetter,
  markRowsStored,
  storeDeadLetterRows,
  type RawRecordPosition,
} from './store-rows.ts';

export interface RedriveTools {
  store: DeadLetterStore;
  database: Database;
  reader: RangeReader;
  admin: Admin;
  eventsTable: EventsTable;
  /** Items of a raw record whose rows are stored under its place. */
  storedItems: (place: RawRecordPosition) => Promise<number[]>;
  /**
   * Publishes to events.raw and answers the offset; rejects when the log did not acknowledge it.
   */
  publish: (record: { partition: number; key: Buffer | null; value: Buffer }) => Promise<number>;
  /** Name of this run: what it began, another run can tell from its own. */
  attempt: string;
  epoch: number;
  month: (at: number) => string;
  now: () => number;
}

export interface RedriveReport {
  /** Letters that went in again, and the events in them; of a dry run: those that would. */
  redriven: { letters: number; events: number };
  /** Letters of an earlier run that was killed: found in the log already. */
  recovered: number;
  /** Letters whose events a replay of events.dead has stored under their old places meanwhile. */
  replayed: number;
  /** Letters that would die again, by why; they stay as they are. */
  unready: Map<string, number>;
  /** Letters of which this run cannot tell: the next redrive of the group looks them up. */
  uncertain: number;
}

interface Limits {
  group: string;
  limit: number;
  dryRun: boolean;
}

/** Letters, and bytes, that are under way together. */
const BATCH = { letters: 50, bytes: 32 * 1024 * 1024 };
/**
 * Within this time a redrive that began has published or given up, ms: the producer's own timeout
 * is below it.
 */
const ATTEMPT_MS = 15_000;

type Candidate = { known: DeadLetterRow; bytes: number } & (
  | { kind: 'raw'; partition: number; record: RawRecord; key: Buffer | null; events: number }
  | { kind: 'rows'; partition: number; rows: EncodedRow[] }
  | { kind: 'replayed' }
  | { kind: 'unready'; why: string }
);

/**
 * Gives the dead letters of a group another try, in the order of their positions. A letter of the
 * normaliser becomes a new raw record, one of the sink is stored under its old place. Before a
 * letter is published its intent is written with the end of the partition; a run that is killed in
 * between is looked up in the log by the next.
 */
export async function redriveGroup(tools: RedriveTools, limits: Limits): Promise<RedriveReport> {
  const report: RedriveReport = {
    redriven: { letters: 0, events: 0 },
    recovered: 0,
    replayed: 0,
    unready: new Map(),
    uncertain: 0,
  };
  if (!limits.dryRun) await recoverInterrupted(tools, limits.group, report);
  let after: string | undefined;
  for (let left = limits.limit; left > 0;) {
    const known = await tools.store.ofGroup(limits.group, {
      state: 'dead',
      limit: Math.min(left, BATCH.letters),
      after,
    });
    if (known.length === 0) break;
    const batch = await prepareBatch(tools, known);
    for (const one of batch)
      if (one.kind === 'unready')
        report.unready.set(one.why, (report.unready.get(one.why) ?? 0) + 1);
    for (const one of batch)
      if (one.kind === 'replayed')
        await markReplayed(tools, { one, dryRun: limits.dryRun, report });
    const ready = batch.filter((one) => one.kind === 'raw' || one.kind === 'rows');
    if (limits.dryRun) for (const one of ready) countRedriven(report, one);
    else {
      await publishBatch(
        tools,
        ready.filter((one) => one.kind === 'raw'),
        report,
      );
      for (const one of ready) if (one.kind === 'rows') await storeOne(tools, one, report);
    }
    left -= batch.length;
    after = batch.at(-1)?.known.letter;
  }
  return report;
}

async function prepareBatch(
  tools: RedriveTools,
  known: readonly DeadLetterRow[],
): Promise<Candidate[]> {
  const batch: Candidate[] = [];
  let bytes = 0;
  for (const one of known) {
    if (batch.length > 0 && bytes > BATCH.bytes) break;
    const prepared = unlessFailing(await unlessReplayed(tools, await prepare(tools, one)));
    bytes += prepared.bytes;
    batch.push(prepared);
  }
  return batch;
}

async function prepare({ reader, epoch }: RedriveTools, known: DeadLetterRow): Promise<Candidate> {
  const unready = (why: string): Candidate => ({ kind: 'unready', known, why, bytes: 0 });
  const letter = await readDeadLetter(reader, known);
  if (!letter) return unready('events.dead does not keep the letter any more: discard it');
  const bytes = await failedBytes(reader, letter);
  if (!bytes)
    return unready(
      `the record was too large for its letter, and ${letter.topic} does not keep it any more: discard the letter`,
    );
  if (letter.stage === 'project') {
    const found = rowsOfDeadLetter(letter, bytes);
    return typeof found === 'string'
      ? unready(found)
      : { kind: 'rows', known, bytes: bytes.length, ...found };
  }
  const made = redrivenRecord(letter, bytes, epoch);
  if (made.kind === 'unready') return unready(made.why);
  const { partition, record } = made;
  return {
    kind: 'raw',
    known,
    bytes: bytes.length,
    partition,
    record,
    key: letter.key,
    events: record.items.length,
  };
}

/** A replay stores the events of a letter under their old places: once more they would be twice. */
async function unlessReplayed(
  { storedItems, epoch }: RedriveTools,
  prepared: Candidate,
): Promise<Candidate> {
  if (prepared.kind !== 'raw') return prepared;
  const { known, partition, record, bytes } = prepared;
  const stored = new Set(
    await storedItems({
      accountId: record.account_id,
      receivedAt: record.received_at,
      epoch,
      partition,
      offset: known.offset,
    }),
  );
  const items = record.items.map((_, at) => (known.index ?? 0) + at);
  const there = items.filter((item) => stored.has(item)).length;
  if (there === 0) return prepared;
  if (there === items.length) return { kind: 'replayed', known, bytes };
  return {
    kind: 'unready',
    known,
    bytes,
    why: 'a replay has stored a part of its events: ./ravand replay --topic events.dead stores the rest',
  };
}

async function markReplayed(
  { store, attempt }: RedriveTools,
  options: { one: Candidate; dryRun: boolean; report: RedriveReport },
): Promise<void> {
  const { letter, offset } = options.one.known;
  options.report.replayed++;
  if (options.dryRun || !(await store.begin([{ letter, rawEnd: null }], attempt)).has(letter))
    return;
  await store.redriven([{ letter, to: offset }], attempt);
}

/** What would only die again is left where it is. */
function unlessFailing(prepared: Candidate): Candidate {
  const failure =
    prepared.kind === 'raw' ? tryRecord(prepared.record, prepared.partition) : undefined;
  if (!failure) return prepared;
  return {
    kind: 'unready',
    known: prepared.known,
    bytes: prepared.bytes,
    why: `this version fails on it too (${failure.reason}): ${failure.detail}`,
  };
}

type RawCandidate = Extract<Candidate, { kind: 'raw' }>;

async function publishBatch(
  tools: RedriveTools,
  letters: readonly RawCandidate[],
  report: RedriveReport,
): Promise<void> {
  if (letters.length === 0) return;
  const { admin, store, attempt, publish, now } = tools;
  const ends = new Map(
    (await admin.fetchTopicOffsets(TOPIC.raw)).map(({ partition, high }) => [
      partition,
      Number(high),
    ]),
  );
  const began = now();
  const mine = await store.begin(
    letters.map(({ known, partition }) => ({
      letter: known.letter,
      rawEnd: ends.get(partition) ?? 0,
    })),
    attempt,
  );
  const taken = letters.filter(({ known }) => mine.has(known.letter));
  // A process that slept here must not publish what another one may have taken over meanwhile.
  if (now() - began > ATTEMPT_MS / 3) {
    await store.release([...mine], attempt);
    throw new Error('PostgreSQL took too long: nothing was redriven; try again');
  }
  const outcomes = await Promise.allSettled(
    taken.map(({ partition, key, record }) =>
      publish({ partition, key, value: rawRecordCodec.encode(record) }),
    ),
  );
  const done: { letter: string; to: number }[] = [];
  for (const [at, one] of taken.entries()) {
    const outcome = outcomes[at];
    if (outcome?.status === 'fulfilled') {
      done.push({ letter: one.known.letter, to: outcome.value });
      countRedriven(report, one);
    } else report.uncertain++;
  }
  await store.redriven(done, attempt);
}

async function storeOne(
  tools: RedriveTools,
  one: Extract<Candidate, { kind: 'rows' }>,
  report: RedriveReport,
): Promise<void> {
  const { store, attempt, eventsTable, database, month } = tools;
  const { letter, index } = one.known;
  if (!(await store.begin([{ letter, rawEnd: null }], attempt)).has(letter)) return;
  const stored = await storeDeadLetterRows(eventsTable, {
    letter,
    rows: one.rows,
    partition: one.partition,
  });
  switch (stored.kind) {
    case 'stored':
      // Only single rows are counted as dead (pipeline/metering/count.ts).
      if (
        await markRowsStored(database, {
          letter,
          attempt,
          counted: index !== null,
          rows: one.rows,
          month,
        })
      )
        countRedriven(report, one);
      return;
    case 'unready':
      await store.release([letter], attempt);
      report.unready.set(stored.why, (report.unready.get(stored.why) ?? 0) + 1);
      return;
    case 'uncertain':
      report.uncertain++;
  }
}

/**
 * Decides the letters of runs that were killed, or whose publish failed: what is in the log is
 * redriven, the rest is dead as before.
 */
async function recoverInterrupted(
  tools: RedriveTools,
  group: string,
  report: RedriveReport,
): Promise<void> {
  const { store, attempt } = tools;
  for (let rounds = 0; rounds < 1000; rounds++) {
    const open = (await store.ofGroup(group, { state: 'redriving', limit: BATCH.letters })).filter(
      (one) => one.attempt !== attempt,
    );
    if (open.length === 0) return;
    const youngest = Math.min(...open.map(({ attempt_age: age }) => age ?? 0));
    if (youngest < ATTEMPT_MS)
      await delay(ATTEMPT_MS - youngest + 100, new AbortController().signal);
    const mine = await store.takeOver(open, attempt);
    for (const known of open) if (mine.has(known.letter)) await recoverOne(tools, known, report);
  }
}

async function recoverOne(
  tools: RedriveTools,
  known: DeadLetterRow,
  report: RedriveReport,
): Promise<void> {
  const { store, attempt } = tools;
  const prepared = await prepare(tools, known);
  if (prepared.kind === 'unready') {
    // It may be in the log, and cannot be told from its neighbours now: nothing is decided.
    report.uncertain++;
    return;
  }
  if (prepared.kind === 'raw' && known.raw_end !== null) {
    const { record, partition } = prepared;
    const at = await findPublished(tools, {
      record,
      partition,
      rawEnd: known.raw_end,
      at: known.attempt_at ?? 0,
    });
    if (at !== undefined) {
      await store.redriven([{ letter: known.letter, to: at }], attempt);
      report.recovered++;
      return;
    }
  }
  // Rows are stored under their places: trying them once more stores nothing twice.
  await store.release([known.letter], attempt);
}

function countRedriven({ redriven }: RedriveReport, one: Candidate): void {
  redriven.letters++;
  redriven.events += one.kind === 'raw' ? one.events : one.kind === 'rows' ? one.rows.length : 0;
}
