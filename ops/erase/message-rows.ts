import type { ErasedPeople } from '../../events/erasure/erased-people.ts';
import {
  eraseFromMessageChunk,
  eraseFromMessageOutcome,
  isNobody,
} from '../../events/erasure/message-records.ts';
import { parseMessageId, personKey } from '../../events/messages/message-id.ts';
import { frameOutcomes, splitOutcomes } from '../../messaging/outcomes/outcome-frames.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { messageChunkCodec, messageOutcomeCodec } from '../../schemas/codec.ts';

type Queries = Pick<Database, 'query'>;

/** A person in the queues of messages up to an erasure. */
export interface MessagePerson {
  accountId: number;
  names: readonly string[];
  /** The erasure alone: finds the person in records. */
  erased: ErasedPeople;
}

/** Records held in memory at a time: a chunk has up to 500 recipients. */
const CHUNKS = 20;
const FRAMES = 100;

/** Parameters $1 and $2; a short name is in nearly every record, which is then decoded. */
function named(column: string): string {
  return `EXISTS (SELECT 1 FROM unnest($2::bytea[]) AS name WHERE position(name IN ${column}) > 0)`;
}

const FIND_CHUNKS = `SELECT c.run_id::float8, c.chunk, c.record FROM campaign_runs r JOIN message_chunks c ON c.run_id = r.id
  WHERE r.account_id = $1 AND (c.run_id, c.chunk) > ($3, $4) AND ${named('c.record')} ORDER BY c.run_id, c.chunk LIMIT ${CHUNKS}`;
// A dispatcher that has leased the chunk opens the places no more (ErasedRecipients); an attempt
// that is open keeps its message id until it ends.
const WRITE_CHUNK = `UPDATE message_chunks SET record = $4, first_key = $5 WHERE run_id = $1 AND chunk = $2 AND record = $3
  AND (leased_until IS NULL OR leased_until < now() OR NOT EXISTS (
    SELECT 1 FROM unnest($6::int[]) AS place WHERE get_bit(opened, place) = 1 AND get_bit(finished, place) = 0))`;

interface HeldChunk {
  runId: number;
  chunk: number;
  record: Buffer;
  /** What is left of the record. */
  erased: Buffer;
}

/** The chunks that hold the person. */
async function* heldChunks(
  database: Queries,
  { accountId, names, erased }: MessagePerson,
): AsyncGenerator<HeldChunk, void, void> {
  for (let [run, chunk] = [-1, -1]; ;) {
    const { rows } = await database.query<{ run_id: number; chunk: number; record: Buffer }>(
      FIND_CHUNKS,
      [accountId, names.map((name) => Buffer.from(name)), run, chunk],
    );
    for (const row of rows) {
      const record = Buffer.from(row.record);
      const left = eraseFromMessageChunk(record, erased);
      if (left) yield { runId: row.run_id, chunk: row.chunk, record, erased: left };
    }
    const last = rows.at(-1);
    if (!last || rows.length < CHUNKS) return;
    [run, chunk] = [last.run_id, last.chunk];
  }
}

/**
 * Empties the person's place in chunks that are queued or being sent. A chunk in which a call for
 * the person is open keeps it: call again until `open` is 0.
 */
export async function removeFromChunks(
  database: Queries,
  person: MessagePerson,
): Promise<{ chunks: number; open: number }> {
  const found = { chunks: 0, open: 0 };
  for await (const { runId, chunk, record, erased } of heldChunks(database, person)) {
    const { first_key, recipients } = messageChunkCodec.decode(erased);
    const places = recipients.flatMap((recipient, place) => (isNobody(recipient) ? [place] : []));
    const { rowCount } = await database.query(WRITE_CHUNK, [
      ...[runId, chunk, record, erased, first_key, places],
    ]);
    if (rowCount === 1) found.chunks++;
    else found.open++;
  }
  return found;
}

const FIND_OUTBOX = `SELECT id::float8, outcomes FROM message_outbox
  WHERE account_id = $1 AND id > $3 AND ${named('outcomes')} ORDER BY id LIMIT ${FRAMES}`;

interface HeldOutcomes {
  id: number;
  /** Of the person. */
  own: Buffer[];
  /** What is left of all. */
  outcomes: Buffer;
}

/** The rows of the outbox that hold outcomes of the person. */
async function* heldOutcomes(
  database: Queries,
  { accountId, names, erased }: MessagePerson,
): AsyncGenerator<HeldOutcomes, void, void> {
  for (let last = -1; ;) {
    const { rows } = await database.query<{ id: number; outcomes: Buffer }>(FIND_OUTBOX, [
      ...[accountId, names.map((name) => Buffer.from(name)), last],
    ]);
    for (const { id, outcomes } of rows) {
      const own: Buffer[] = [];
      const left = splitOutcomes(Buffer.from(outcomes)).map((record) => {
        const erasedRecord = eraseFromMessageOutcome(record, erased);
        if (erasedRecord) own.push(record);
        return erasedRecord ?? record;
      });
      if (own.length > 0) yield { id, own, outcomes: frameOutcomes(left) };
    }
    last = rows.at(-1)?.id ?? last;
    if (rows.length < FRAMES) return;
  }
}

/** Ids of messages whose outcomes are not published yet. */
export async function unpublishedIds(database: Queries, person: MessagePerson): Promise<string[]> {
  const ids: string[] = [];
  for await (const { own } of heldOutcomes(database, person))
    ids.push(...own.map((record) => messageOutcomeCodec.decode(record).message_id));
  return ids;
}

/** Empties outcomes of the person that are not published yet. */
export async function removeFromOutbox(database: Queries, person: MessagePerson): Promise<void> {
  for await (const { id, outcomes } of heldOutcomes(database, person))
    await database.query('UPDATE message_outbox SET outcomes = $2 WHERE id = $1', [id, outcomes]);
}

/** How many chunks and rows of the outbox hold the person. */
export async function countHeld(
  database: Queries,
  person: MessagePerson,
): Promise<{ chunks: number; outcomes: number }> {
  const found = { chunks: 0, outcomes: 0 };
  const chunks = heldChunks(database, person);
  while ((await chunks.next()).done !== true) found.chunks++;
  const outcomes = heldOutcomes(database, person);
  while ((await outcomes.next()).done !== true) found.outcomes++;
  return found;
}

// The chunks of a run that sends may be written again, when the log has lost some.
const READ_AGAIN = "state IN ('planning', 'sending')";
const RUNS = `SELECT id::float8, frozen_at IS NULL AND leased_until >= now() AS is_freezing FROM campaign_runs
  WHERE account_id = $1 AND ${READ_AGAIN}`;

/**
 * Runs whose audience is being frozen (it may hold the person), and those whose rows of
 * campaign_recipients may still be read.
 */
export async function activeRuns(
  database: Queries,
  accountId: number,
): Promise<{ freezing: number[]; active: number[] }> {
  const { rows } = await database.query<{ id: number; is_freezing: boolean | null }>(RUNS, [
    accountId,
  ]);
  return {
    freezing: rows.filter((row) => row.is_freezing === true).map(({ id }) => id),
    active: rows.map(({ id }) => id),
  };
}

/** Runs of all accounts whose rows of campaign_recipients may still be read. */
export async function allActiveRuns(database: Queries): Promise<number[]> {
  const { rows } = await database.query<{ id: number }>(
    `SELECT id::float8 FROM campaign_runs WHERE ${READ_AGAIN}`,
  );
  return rows.map(({ id }) => id);
}

// A request that takes longer has ended, or its process died.
const SENDING = `SELECT count(*)::int AS count FROM transactional_messages
  WHERE account_id = $1 AND result IS NULL AND reserved_at <= $2::timestamptz AND reserved_at > clock_timestamp() - interval '1 minute'`;

/** Transactional messages of the account that were under way at the time, and still are. */
export async function sendingSince(
  database: Queries,
  accountId: number,
  at: string,
): Promise<number> {
  const { rows } = await database.query<{ count: number }>(SENDING, [accountId, at]);
  return rows[0]?.count ?? 0;
}

const REMOVE = `WITH recipients AS (
    DELETE FROM message_recipients WHERE account_id = $1 AND user_id = ANY($2::text[]) AND created_at <= to_timestamp($3::float8 / 1000) RETURNING 1
  ), transactional AS (
    DELETE FROM transactional_messages WHERE account_id = $1 AND idempotency_key = ANY($5::text[]) AND result IS NOT NULL
      AND reserved_at <= to_timestamp($3::float8 / 1000) RETURNING 1
  ), caps AS (
    DELETE FROM message_caps WHERE account_id = $1 AND person = ANY($4::text[]) RETURNING 1
  ), merged AS (
    DELETE FROM campaign_run_merged m USING campaign_runs r WHERE r.account_id = $1 AND m.run_id = r.id AND r.created_at <= to_timestamp($3::float8 / 1000)
      AND (m.person = ANY($2::text[] || $4::text[]) OR m.sends_as = ANY($2::text[] || $4::text[])) RETURNING 1
  ), links AS (
    DELETE FROM short_links WHERE account_id = $1 AND created_at <= to_timestamp($3::float8 / 1000)
      AND EXISTS (SELECT 1 FROM unnest($4::text[] || $6::text[]) AS id (text) WHERE position(id.text IN translate(target, '#', '&') || '&') > 0) RETURNING 1
  ), checkpoints AS (
    UPDATE campaign_runs SET last_key = '' WHERE account_id = $1 AND is_planned AND last_key = ANY($4::text[])
  )
  SELECT (SELECT count(*) FROM recipients)::int AS recipients, (SELECT count(*) FROM transactional)::int AS transactional,
    (SELECT count(*) FROM caps)::int AS caps, (SELECT count(*) FROM merged)::int AS merged, (SELECT count(*) FROM links)::int AS links`;

export interface RemovedMessages {
  /** Rows by which links and bounces find the recipient of a message. */
  recipients: number;
  transactional: number;
  caps: number;
  merged: number;
  /** Short links, whose targets hold the id of a message. */
  links: number;
}

/**
 * Removes what else PostgreSQL keeps about messages to the person up to a time (ms since the
 * epoch), in one statement.
 * @param messageIds of the person's transactional messages
 */
export async function removeMessageRows(
  database: Queries,
  { accountId, names }: MessagePerson,
  { until, messageIds }: { until: number; messageIds: readonly string[] },
): Promise<RemovedMessages> {
  const transactional = messageIds.filter((id) => parseMessageId(id)?.kind === 'transactional');
  const keys = transactional.flatMap((id) => {
    const parsed = parseMessageId(id);
    return parsed?.kind === 'transactional' ? [parsed.idempotencyKey] : [];
  });
  const { rows } = await database.query<RemovedMessages>(REMOVE, [
    ...[accountId, names.map(escapeText), until, names.map(personKey), keys],
    transactional.map((id) => `=${id}&`),
  ]);
  return rows[0] ?? { recipients: 0, transactional: 0, caps: 0, merged: 0, links: 0 };
}
