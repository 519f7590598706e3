import { withoutErasedEvents } from '../../events/erasure/dead-letter.ts';
import { redrivenRecords } from '../../pipeline/dead-letters/redriven-record.ts';
import type { EncodedRow } from '../../projections/events/decode.ts';
import type { DeadLetter, RawRecord } from '../../schemas/records.ts';
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
  /** A replay of an earlier release has stored its events. */
  | { kind: 'replayed' }
  | { kind: 'unready'; why: string }
);

/** Reads the dead letter and decides whether it is published, stored, or left as it is. */
export async function candidateOf(tools: RedriveTools, known: DeadLetterRow): Promise<Candidate> {
  return unlessFailing(await prepare(tools, known));
}

/** Reads the dead letter and makes the raw record or the rows of it. */
export async function prepare(tools: RedriveTools, known: DeadLetterRow): Promise<Candidate> {
  const { reader, deadLetter: read, epochOf, erased } = tools;
  const unready = (why: string): Candidate => ({ kind: 'unready', known, why, bytes: 0 });
  const found = await read(known);
  if (!found) return unready('events.dead does not retain the dead letter: discard it');
  const whole = await failedBytes(reader, found);
  if (!whole)
    return unready(
      `the dead letter holds only the beginning of a very large record, and ${found.topic} does not retain the record: discard it`,
    );
  const asWritten = { ...found, value: whole };
  const left = withoutErasedEvents(asWritten, erased, () => epochOf(known));
  if (left?.isEmpty) return unready('its person was erased: discard it');
  const deadLetter = left?.deadLetter ?? asWritten;
  const { value: bytes } = deadLetter;
  if (deadLetter.stage === 'project') {
    const found = rowsOfDeadLetter(deadLetter, bytes);
    return typeof found === 'string'
      ? unready(found)
      : { kind: 'rows', known, bytes: bytes.length, ...found };
  }
  return rawCandidate(tools, { known, deadLetter, bytes });
}

/**
 * The records of a dead letter of the normaliser, without the events that a replay of an earlier
 * release stored under their original positions: a redrive would store them twice.
 */
async function rawCandidate(
  { storedItems, epochOf }: RedriveTools,
  { known, deadLetter, bytes }: { known: DeadLetterRow; deadLetter: DeadLetter; bytes: Buffer },
): Promise<Candidate> {
  const epoch = epochOf(known);
  const whole = redrivenRecords(deadLetter, bytes, epoch);
  if (whole.kind === 'unready') return { kind: 'unready', known, why: whole.why, bytes: 0 };
  const [record] = whole.records;
  const found = await storedItems({
    ...{ accountId: record.account_id, receivedAt: record.received_at, epoch },
    ...{ partition: whole.partition, offset: known.offset },
  });
  const stored = new Set(found);
  const items = whole.records.flatMap(({ items, redriven_from: from }) =>
    items.map((_, at) => (from?.index ?? 0) + at),
  );
  const [index, ...others] = items.filter((item) => !stored.has(item));
  if (items.length > 0 && index === undefined)
    return { kind: 'replayed', known, bytes: bytes.length };
  const left =
    index === undefined || others.length + 1 === items.length
      ? whole
      : redrivenRecords({ ...deadLetter, index, indexes: [index, ...others] }, bytes, epoch);
  if (left.kind === 'unready') return { kind: 'unready', known, why: left.why, bytes: 0 };
  const { partition, records } = left;
  return {
    ...{ kind: 'raw', known, bytes: bytes.length * records.length, partition, records },
    key: deadLetter.key,
    events: records.reduce((sum, { items }) => sum + items.length, 0),
  };
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
