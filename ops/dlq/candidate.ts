import { redrivenRecords } from '../../pipeline/dead-letters/redriven-record.ts';
import type { EncodedRow } from '../../projections/events/decode.ts';
import type { RawRecord } from '../../schemas/records.ts';
import type { DeadLetterRow } from './dead-letter-store.ts';
import { failedBytes } from './read-dead-letter.ts';
import type { RedriveTools } from './redrive-tools.ts';
import { rowsOfDeadLetter } from './store-rows.ts';
import { tryRecord } from './try-record.ts';

/** What a redrive does with a dead letter. */
export type Candidate = { known: DeadLetterRow; bytes: number } & (
  | {
      kind: 'raw';
      partition: number;
      records: readonly [RawRecord, ...RawRecord[]];
      key: Buffer | null;
      events: number;
    }
  | { kind: 'rows'; partition: number; version: number; rows: EncodedRow[] }
  /** A replay has stored its events. */
  | { kind: 'replayed' }
  | { kind: 'unready'; why: string }
);

/** Reads the dead letter and decides whether it is published, stored, or left as it is. */
export async function candidateOf(tools: RedriveTools, known: DeadLetterRow): Promise<Candidate> {
  return unlessFailing(await unlessReplayed(tools, await prepare(tools, known)));
}

/** Reads the dead letter and makes the raw record or the rows of it. */
export async function prepare(
  { reader, deadLetter: read, epochOf }: RedriveTools,
  known: DeadLetterRow,
): Promise<Candidate> {
  const unready = (why: string): Candidate => ({ kind: 'unready', known, why, bytes: 0 });
  const deadLetter = await read(known);
  if (!deadLetter) return unready('events.dead does not retain the dead letter: discard it');
  const bytes = await failedBytes(reader, deadLetter);
  if (!bytes)
    return unready(
      `the dead letter holds only the beginning of a very large record, and ${deadLetter.topic} does not retain the record: discard it`,
    );
  if (deadLetter.stage === 'project') {
    const found = rowsOfDeadLetter(deadLetter, bytes);
    return typeof found === 'string'
      ? unready(found)
      : { kind: 'rows', known, bytes: bytes.length, ...found };
  }
  const redriven = redrivenRecords(deadLetter, bytes, epochOf(known));
  if (redriven.kind === 'unready') return unready(redriven.why);
  const { partition, records } = redriven;
  const { key } = deadLetter;
  return {
    ...{ kind: 'raw', known, bytes: bytes.length * records.length, partition, records, key },
    events: records.reduce((sum, { items }) => sum + items.length, 0),
  };
}

/** A replay stores the events under their original positions: a redrive would store them twice. */
async function unlessReplayed(
  { storedItems, epochOf }: RedriveTools,
  candidate: Candidate,
): Promise<Candidate> {
  if (candidate.kind !== 'raw') return candidate;
  const { known, partition, records, events, bytes } = candidate;
  const [record] = records;
  const stored = new Set(
    await storedItems({
      accountId: record.account_id,
      receivedAt: record.received_at,
      epoch: epochOf(known),
      partition,
      offset: known.offset,
    }),
  );
  const storedCount = records
    .flatMap(({ items, redriven_from: from }) => items.map((_, at) => (from?.index ?? 0) + at))
    .filter((item) => stored.has(item)).length;
  if (storedCount === 0) return candidate;
  if (storedCount === events) return { kind: 'replayed', known, bytes };
  const why =
    'a replay has stored some of its events: ./ravand replay --topic events.dead stores the rest';
  return { kind: 'unready', known, bytes, why };
}

/** A record that this version cannot normalise either stays a dead letter. */
function unlessFailing(candidate: Candidate): Candidate {
  if (candidate.kind !== 'raw') return candidate;
  const { known, bytes } = candidate;
  const failure = candidate.records
    .map((record) => tryRecord(record, candidate.partition))
    .find((one) => one !== undefined);
  if (!failure) return candidate;
  const why = `this version fails on it too (${failure.reason}): ${failure.detail}`;
  return { kind: 'unready', known, bytes, why };
}
