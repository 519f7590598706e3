import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { LogPosition } from '../../schemas/log-position.ts';
import type { PersonRows } from './clickhouse-rows.ts';
import { deliveryPatterns } from './delivery-patterns.ts';
import { postgresPatterns, type Needle } from './needles.ts';

type Queries = Pick<Database, 'query'>;

/** Cuts as parameters $3 to $5; `b` are the columns partition, epoch and log_offset of a row. */
const BEFORE = `EXISTS (SELECT 1 FROM unnest($3::int[], $4::int[], $5::bigint[]) AS cut (partition, epoch, log_offset)
  WHERE cut.partition = b.partition AND (b.epoch, b.log_offset) < (cut.epoch, cut.log_offset))`;

const IDENTITIES = `
WITH facts AS (
  DELETE FROM alias_facts b WHERE account_id = $1 AND user_id = ANY($2::text[]) AND ${BEFORE} RETURNING 1
), undos AS (
  DELETE FROM alias_undos WHERE account_id = $1 AND previous_id = ANY($2::text[]) RETURNING 1
), pairs AS (
  DELETE FROM alias_pairs WHERE account_id = $1 AND (name = ANY($2::text[]) OR other = ANY($2::text[])) RETURNING 1
), ids AS (
  DELETE FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[]) RETURNING 1
), turn AS (
  UPDATE identity_accounts SET revision = revision + 1 WHERE account_id = $1
)
SELECT (SELECT count(*) FROM facts)::int AS facts, (SELECT count(*) FROM undos)::int + (SELECT count(*) FROM pairs)::int AS decisions,
  (SELECT count(*) FROM ids)::int AS ids`;

function parameters({ accountId, names, cuts }: PersonRows): unknown[] {
  return [
    accountId,
    names.map(escapeText),
    cuts.map(({ partition }) => partition),
    cuts.map(({ epoch }) => epoch),
    cuts.map(({ offset }) => offset),
  ];
}

/** Removes the aliases of the person's events, decisions about the names, and their people. */
export async function removeIdentities(
  database: Queries,
  person: PersonRows,
): Promise<{ facts: number; decisions: number; ids: number }> {
  const { rows } = await database.query<{ facts: number; decisions: number; ids: number }>(
    IDENTITIES,
    parameters(person),
  );
  return rows[0] ?? { facts: 0, decisions: 0, ids: 0 };
}

/** Distinct ids of the aliases that still name the person: of later events, or of other people. */
export async function stillNamed(
  database: Queries,
  { accountId, names }: Pick<PersonRows, 'accountId' | 'names'>,
): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT DISTINCT name FROM alias_facts, LATERAL (VALUES (previous_id), (user_id)) AS named (name)
     WHERE account_id = $1 AND (previous_id = ANY($2::text[]) OR user_id = ANY($2::text[]))`,
    [accountId, names.map(escapeText)],
  );
  return rows.map(({ name }) => unescapeText(name));
}

/** Positions in one statement. */
const CHUNK = 5000;

const FORMER_DELIVERIES = `DELETE FROM relay_deliveries b WHERE account_id = $1 AND payload ~ ANY ($2::text[]) AND ${BEFORE}`;

/**
 * Removes the deliveries of events, whatever became of them: of the stored ones by their positions,
 * and by their payloads those that retention has deleted.
 */
export async function removeDeliveries(
  database: Queries,
  person: PersonRows,
  positions: readonly LogPosition[],
): Promise<number> {
  const { accountId, names } = person;
  const [, , ...cuts] = parameters(person);
  const former = [accountId, deliveryPatterns(names), ...cuts];
  let removed = (await database.query(FORMER_DELIVERIES, former)).rowCount ?? 0;
  for (let from = 0; from < positions.length; from += CHUNK) {
    const some = positions.slice(from, from + CHUNK);
    const { rowCount } = await database.query(
      `DELETE FROM relay_deliveries d USING unnest($2::int[], $3::int[], $4::bigint[], $5::int[]) AS gone (epoch, partition, log_offset, log_index)
       WHERE d.account_id = $1 AND d.epoch = gone.epoch AND d.partition = gone.partition AND d.log_offset = gone.log_offset AND d.log_index = gone.log_index`,
      [
        accountId,
        some.map(({ epoch }) => epoch),
        some.map(({ partition }) => partition),
        some.map(({ offset }) => offset),
        some.map(({ index }) => index),
      ],
    );
    removed += rowCount ?? 0;
  }
  return removed;
}

/** Removes what replays and comparisons of profiles have recorded by name. */
export async function removeRefolds(
  database: Queries,
  { accountId, names }: Pick<PersonRows, 'accountId' | 'names'>,
): Promise<void> {
  const values = [accountId, names.map(escapeText)];
  for (const table of ['profile_refolds', 'replay_names', 'profile_differences'])
    await database.query(
      `DELETE FROM ${table} WHERE account_id = $1 AND name = ANY($2::text[])`,
      values,
    );
}

const REASONS = `WITH notes AS (
  UPDATE dead_letters SET note = 'erased' WHERE note IN (
    SELECT note FROM dead_letters
    WHERE (account_id = $1 OR account_id IS NULL) AND to_jsonb(note)::text ~ ANY ($2::text[])) RETURNING 1
), reasons AS (
  UPDATE audit_lines SET details = details || (
    SELECT jsonb_object_agg(key, 'erased') FROM jsonb_each(details) AS each (key, value)
    WHERE key = ANY ($3::text[]) AND value::text ~ ANY ($2::text[]))
  WHERE (account_id = $1 OR account_id IS NULL) AND EXISTS (
    SELECT 1 FROM jsonb_each(details) AS each (key, value)
    WHERE key = ANY ($3::text[]) AND value::text ~ ANY ($2::text[])) RETURNING 1
) SELECT (SELECT count(*) FROM notes)::int + (SELECT count(*) FROM reasons)::int AS blanked`;

/** Details of audit lines that operators write: --reason of person split and of dlq discard. */
const FREE_TEXTS = ['reason', 'note'];

/** What operators wrote that names the person is replaced by `erased`; the lines stay. */
export async function blankReasons(
  database: Queries,
  accountId: number,
  needles: readonly Needle[],
): Promise<number> {
  if (needles.length === 0) return 0;
  const patterns = needles.flatMap(postgresPatterns);
  const { rows } = await database.query<{ blanked: number }>(REASONS, [
    ...[accountId, patterns, FREE_TEXTS],
  ]);
  return rows[0]?.blanked ?? 0;
}

/**
 * Dead letters of which nothing is left can no longer be redriven or restored, and have no message
 * id. Resolves with how many were not marked before.
 */
export async function markErased(database: Queries, keys: readonly string[]): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE dead_letters SET state = CASE WHEN state = 'redriven' THEN state ELSE 'discarded' END,
       changed_at = CASE WHEN state IN ('redriven', 'discarded') THEN changed_at ELSE now() END,
       note = 'erased', message_id = '', erased = true
     WHERE letter = ANY ($1::text[]) AND NOT erased`,
    [keys],
  );
  return rowCount ?? 0;
}

interface StoredExport {
  id: string;
  file: string;
}

/** Exports of an account whose files exist. */
export async function readyExports(database: Queries, accountId: number): Promise<StoredExport[]> {
  const { rows } = await database.query<StoredExport>(
    `SELECT id, file FROM exports WHERE account_id = $1 AND status = 'ready' AND file IS NOT NULL`,
    [accountId],
  );
  return rows;
}

export async function markExpired(database: Queries, { id }: StoredExport): Promise<void> {
  await database.query(`UPDATE exports SET status = 'expired' WHERE id = $1 AND status = 'ready'`, [
    id,
  ]);
}

/** Running exports may have read the person: they begin again, and their file is an orphan. */
export async function restartExports(database: Queries, accountId: number): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE exports SET status = 'queued', due_at = clock_timestamp(), attempt = attempt + 1
     WHERE account_id = $1 AND status = 'running'`,
    [accountId],
  );
  return rowCount ?? 0;
}

/** Replays and rebuilds that are not finished. */
export async function openJobs(database: Queries): Promise<string[]> {
  const { rows } = await database.query<{ command: string }>(
    `SELECT command FROM log_jobs WHERE state = 'running' ORDER BY id`,
  );
  return rows.map(({ command }) => command);
}
