import { GroupedCalls } from '../../platform/grouped-calls.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { completeMessages, type Completion } from './complete-messages.ts';
import type { MessageResult } from './message-result.ts';
import type { Fenced, Handed, MessageKey, Reservation } from './reservation.ts';

type Queries = Pick<Database, 'query'>;

export type Reserved =
  | { kind: 'reserved'; reservation: Reservation }
  /** Somebody else holds it. */
  | { kind: 'in_flight' }
  | { kind: 'completed'; result: MessageResult };

interface Times {
  /** After this time a reservation can be taken again, ms (API_STALE_RESERVATION). */
  staleMs: number;
  /** Results are replayed for this long, ms (API_IDEMPOTENCY_RETENTION). */
  retentionMs: number;
}

/** A reservation and by what it calls a provider. */
type Opening = Fenced & { with: string };

const KEYS = 'unnest($1::bigint[], $2::text[], $3::bigint[])';
const OF_HOLDER =
  't.account_id = w.account_id AND t.idempotency_key = w.idempotency_key AND t.fence = w.fence AND t.result IS NULL';

/** Somebody called a provider, or was about to, and there is no result. */
const IS_OPENED = 't.result IS NULL AND t.opened_at IS NOT NULL';
const AFTER_FORMER = `t.opened_at + interval '1 microsecond'`;

// Opened by this statement: opened_at = reserved_at. Of a former holder: opened_at < reserved_at.
const RESERVE = `WITH wanted AS MATERIALIZED (
    SELECT w.*, clock_timestamp() AS reserved_at
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $6::text[]) WITH ORDINALITY AS w (account_id, idempotency_key, fence, opened_with, at)
  ), reserved AS (
    INSERT INTO transactional_messages AS t (account_id, idempotency_key, fence, reserved_at, opened_at, opened_with)
    SELECT account_id, idempotency_key, fence, reserved_at, CASE WHEN opened_with <> '' THEN reserved_at END, opened_with FROM wanted ORDER BY 1, 2
    ON CONFLICT (account_id, idempotency_key) DO UPDATE SET
      fence = excluded.fence, reserved_at = greatest(excluded.reserved_at, ${AFTER_FORMER}), result = NULL, finished_at = NULL,
      opened_at = CASE WHEN ${IS_OPENED} THEN t.opened_at WHEN excluded.opened_with <> '' THEN greatest(excluded.reserved_at, ${AFTER_FORMER}) END,
      opened_with = CASE WHEN ${IS_OPENED} THEN t.opened_with ELSE excluded.opened_with END
    WHERE (t.result IS NULL AND t.reserved_at < clock_timestamp() - $4 * interval '1 millisecond')
      OR t.finished_at < clock_timestamp() - $5 * interval '1 millisecond'
    RETURNING account_id, idempotency_key, CASE WHEN opened_at < reserved_at THEN opened_with ELSE '' END AS opened_with
  )
  SELECT w.at::integer AS at, r.opened_with, known.result
  FROM wanted w LEFT JOIN reserved r USING (account_id, idempotency_key)
  LEFT JOIN LATERAL (
    SELECT t.result FROM transactional_messages t WHERE t.account_id = w.account_id AND t.idempotency_key = w.idempotency_key LIMIT 1
  ) known ON r.opened_with IS NULL`;

const OPEN = `UPDATE transactional_messages t SET opened_at = clock_timestamp(), opened_with = w.opened_with
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS w (account_id, idempotency_key, fence, opened_with, at)
  WHERE ${OF_HOLDER} RETURNING w.at::integer AS at`;

const UNOPEN = `UPDATE transactional_messages t SET opened_at = NULL, opened_with = ''
  FROM ${KEYS} AS w (account_id, idempotency_key, fence) WHERE ${OF_HOLDER}`;

/** What may have been sent stays known as opened; only its time is over. */
const IS_UNSENT =
  "(w.handed = 'none' OR (w.handed = 'former' AND (t.opened_at IS NULL OR t.opened_at = t.reserved_at)))";
const RELEASE = `WITH w AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) AS w (account_id, idempotency_key, fence, handed)
  ), removed AS (
    DELETE FROM transactional_messages t USING w WHERE ${OF_HOLDER} AND ${IS_UNSENT}
  )
  UPDATE transactional_messages t SET reserved_at = least(clock_timestamp() - $5 * interval '1 millisecond', t.opened_at - interval '1 microsecond')
  FROM w WHERE ${OF_HOLDER} AND NOT ${IS_UNSENT}`;

const SWEEP = `DELETE FROM transactional_messages WHERE (account_id, idempotency_key) IN (
    SELECT account_id, idempotency_key FROM transactional_messages
    WHERE reserved_at < clock_timestamp() - $1 * interval '1 millisecond' AND coalesce(finished_at, '-infinity') < clock_timestamp() - $1 * interval '1 millisecond'
    ORDER BY reserved_at LIMIT $2 FOR UPDATE SKIP LOCKED)`;

/** Between the beginnings of two statements that store results, ms. */
const RESULTS_MS = 10;
/**
 * From the first result of a statement to its beginning, ms: the calls of a group end apart, and
 * what comes after the beginning waits for the next statement.
 */
const GATHER_MS = 4;

interface Row {
  at: number;
  /** By what a former holder opened it; null: not reserved. */
  opened_with: string | null;
  result: MessageResult | null;
}

/**
 * The ledger of transactional messages (management 3.4). Only the holder of the newest reservation
 * of a key can open, release or complete it. The statements of concurrent requests are made one.
 * Every method rejects when PostgreSQL does; then its effect is unknown.
 */
export class TransactionalStore {
  readonly #database: Queries;
  readonly #times: Times;
  readonly #reserving: GroupedCalls<Opening, Reserved>;
  readonly #opening: GroupedCalls<Opening, boolean>;
  readonly #unopening: GroupedCalls<Fenced, true>;
  readonly #releasing: GroupedCalls<Fenced & { handed: Handed }, true>;
  readonly #completing: GroupedCalls<Completion, boolean>;

  constructor(database: Queries, times: Times) {
    this.#database = database;
    this.#times = times;
    this.#reserving = new GroupedCalls({ run: (keys) => this.#reserveAll(keys) });
    this.#opening = new GroupedCalls({ run: (all) => openAll(database, all) });
    this.#unopening = new GroupedCalls({ run: (all) => unopenAll(database, all) });
    this.#releasing = new GroupedCalls({ run: (all) => releaseAll(database, all, times) });
    this.#completing = new GroupedCalls({
      run: (all) => completeMessages(database, all),
      intervalMs: RESULTS_MS,
      gatherMs: GATHER_MS,
    });
  }

  /**
   * Reserves a key, and records that a provider is about to be called, unless a former holder may
   * have called one. When it rejects, the key may be reserved under the fence: release it.
   * @param as provider and revision of the sender that is called next; empty: none is yet
   */
  reserve(key: Fenced, as: string): Promise<Reserved> {
    return this.#reserving.call({ ...key, with: as });
  }

  /**
   * Records that a provider is about to be called. False: the reservation is another one's by now,
   * and nothing may be called.
   * @param as provider and revision of the sender
   */
  open(reservation: Fenced, as: string): Promise<boolean> {
    return this.#opening.call({ ...reservation, with: as });
  }

  /** Records that no provider has the message: a crash now leaves no unknown outcome. */
  async unopen(reservation: Fenced): Promise<void> {
    await this.#unopening.call(reservation);
  }

  /** Frees the key at once, unless a provider may have the message. */
  async release(reservation: Fenced, handed: Handed): Promise<void> {
    await this.#releasing.call({ ...reservation, handed });
  }

  /**
   * Stores the result with its outcome and the meter, in one statement. False: the reservation is
   * another one's by now, and nothing was stored.
   */
  complete(completion: Completion): Promise<boolean> {
    return this.#completing.call(completion);
  }

  /** Removes at most `limit` keys that nobody asks for any more; resolves with how many. */
  async sweep(limit: number): Promise<number> {
    const { rowCount } = await this.#database.query(SWEEP, [this.#times.retentionMs, limit]);
    return rowCount ?? 0;
  }

  /** Of several requests with one key in a statement the first one may get the reservation. */
  async #reserveAll(keys: readonly Opening[]): Promise<Reserved[]> {
    const { staleMs, retentionMs } = this.#times;
    const first = [...new Map(keys.toReversed().map((key) => [nameOf(key), key])).values()];
    const { rows } = await this.#database.query<Row>(RESERVE, [
      ...[...columns(first), staleMs, retentionMs, first.map((key) => key.with)],
    ]);
    const answers = new Map(
      rows.flatMap((row) => {
        const key = first[row.at - 1];
        return key ? [[key, reservedOf(key, row)]] : [];
      }),
    );
    return keys.map((key) => answers.get(key) ?? IN_FLIGHT);
  }
}

const IN_FLIGHT: Reserved = { kind: 'in_flight' };

function nameOf({ accountId, idempotencyKey }: MessageKey): string {
  return `${accountId} ${idempotencyKey}`;
}

function reservedOf(
  { accountId, idempotencyKey, fence }: Opening,
  { opened_with: openedWith, result }: Row,
): Reserved {
  if (openedWith !== null) {
    const reservation = { accountId, idempotencyKey, fence, openedWith };
    return { kind: 'reserved', reservation };
  }
  return result ? { kind: 'completed', result } : IN_FLIGHT;
}

function columns(all: readonly Fenced[]): unknown[] {
  return [
    all.map(({ accountId }) => accountId),
    all.map(({ idempotencyKey }) => idempotencyKey),
    all.map(({ fence }) => fence),
  ];
}

async function openAll(database: Queries, all: readonly Opening[]): Promise<boolean[]> {
  const values = [...columns(all), all.map((one) => one.with)];
  const { rows } = await database.query<{ at: number }>(OPEN, values);
  const opened = new Set(rows.map(({ at }) => at));
  return all.map((_, index) => opened.has(index + 1));
}

async function unopenAll(database: Queries, all: readonly Fenced[]): Promise<true[]> {
  await database.query(UNOPEN, columns(all));
  return all.map(() => true);
}

async function releaseAll(
  database: Queries,
  all: readonly (Fenced & { handed: Handed })[],
  { staleMs }: Times,
): Promise<true[]> {
  const values = [...columns(all), all.map(({ handed }) => handed), staleMs + 1];
  await database.query(RELEASE, values);
  return all.map(() => true);
}
