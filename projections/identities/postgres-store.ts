import type { Database } from '../../platform/postgres/pool.ts';
import type { WriteOrder } from '../../events/write-order.ts';
import { distinctIds, factKey, type AliasFact, type IdentityRow } from './alias-fact.ts';
import { unescapeText, escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Change, IdentityStore } from './store.ts';

/** Order columns of a fact. PostgreSQL returns bigints as texts. */
type OrderColumns = Record<'received_at' | 'log_offset', string> &
  Record<'epoch' | 'partition' | 'log_index', number>;

const writeOrder = (row: OrderColumns): WriteOrder => ({
  receivedAt: Number(row.received_at),
  epoch: row.epoch,
  partition: row.partition,
  offset: Number(row.log_offset),
  index: row.log_index,
});

type NameRow = { name: string; canonical: string; joined_to: string | null } & OrderColumns;

function identityRow({ name, canonical, joined_to, ...order }: NameRow): IdentityRow {
  const distinctId = unescapeText(name);
  const parent =
    joined_to === null
      ? undefined
      : { previousId: distinctId, userId: unescapeText(joined_to), order: writeOrder(order) };
  return { distinctId, canonicalId: unescapeText(canonical), parent };
}

const ORDER = 'received_at, epoch, partition, log_offset, log_index';
const NAME_ROW = `name, canonical, joined_to, ${ORDER}`;

// Each statement is one transaction: the embedded PostgreSQL shares one session between
// all clients.
const REVISION = `WITH made AS (INSERT INTO identity_accounts (account_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING revision)
  SELECT revision FROM made UNION ALL SELECT revision FROM identity_accounts WHERE account_id = $1`;
const NAMES = `SELECT ${NAME_ROW} FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[])`;
const STORED = `SELECT ${ORDER} FROM alias_facts JOIN unnest($2::text[], $3::bigint[], $4::int[], $5::int[], $6::bigint[], $7::int[])
  AS wanted (previous_id, received_at, epoch, partition, log_offset, log_index) USING (previous_id, ${ORDER}) WHERE account_id = $1`;
const UNDONE =
  'SELECT previous_id, until FROM alias_undos WHERE account_id = $1 AND previous_id = ANY($2::text[])';
const PEOPLE = `SELECT ${NAME_ROW} FROM identity_names WHERE account_id = $1
  AND canonical IN (SELECT canonical FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[]))`;
const FACTS = `SELECT previous_id, user_id, ${ORDER} FROM alias_facts f WHERE account_id = $1 AND previous_id = ANY($2::text[])
  AND received_at > coalesce((SELECT until FROM alias_undos u WHERE u.account_id = $1 AND u.previous_id = f.previous_id), -1)
  AND NOT (previous_id = $3 AND received_at <= $4)`;
const COMMIT = `WITH turn AS (
    UPDATE identity_accounts SET revision = revision + 1 WHERE account_id = $1 AND revision = $2 RETURNING revision
  ), facts AS (
    INSERT INTO alias_facts (account_id, previous_id, ${ORDER}, user_id)
    SELECT $1, f.* FROM unnest($3::text[], $4::bigint[], $5::int[], $6::int[], $7::bigint[], $8::int[], $9::text[]) AS f, turn
    ON CONFLICT DO NOTHING
  ), undos AS (
    INSERT INTO alias_undos (account_id, previous_id, until) SELECT $1, $10::text, $11::bigint FROM turn WHERE $10::text IS NOT NULL
    ON CONFLICT (account_id, previous_id) DO UPDATE SET until = greatest(alias_undos.until, excluded.until)
  ), names AS (
    INSERT INTO identity_names (account_id, ${NAME_ROW}, revision)
    SELECT $1, n.*, turn.revision FROM unnest($12::text[], $13::text[], $14::text[], $15::bigint[], $16::int[], $17::int[], $18::bigint[], $19::int[]) AS n, turn
    ON CONFLICT (account_id, name) DO UPDATE SET canonical = excluded.canonical, joined_to = excluded.joined_to, received_at = excluded.received_at,
      epoch = excluded.epoch, partition = excluded.partition, log_offset = excluded.log_offset, log_index = excluded.log_index, revision = excluded.revision
  ) SELECT revision FROM turn`;
const UNPUBLISHED = `SELECT n.name, n.canonical, n.revision FROM identity_names n JOIN identity_accounts a USING (account_id)
  WHERE account_id = $1 AND n.revision > a.published AND n.revision <= $2`;
const PUBLISHED =
  'UPDATE identity_accounts SET published = greatest(published, $2) WHERE account_id = $1';

/** The store in PostgreSQL (migration 0004). */
export function postgresIdentities(database: Database): IdentityStore {
  /** 0 while another worker inserts the row of the account: it is not visible yet. */
  const revisionOf = async (accountId: number) => {
    const { rows } = await database.query<{ revision: string }>(REVISION, [accountId]);
    return Number(rows[0]?.revision ?? 0);
  };
  return {
    async snapshot(accountId, facts) {
      // The revision is read first: a change after it makes the commit fail.
      const revision = await revisionOf(accountId);
      const ids = [...new Set(distinctIds(facts))].map(escapeText);
      const names = await database.query<NameRow>(NAMES, [accountId, ids]);
      const stored = await database.query<OrderColumns>(STORED, [
        accountId,
        ...factColumns(facts).slice(0, -1),
      ]);
      const undone = await database.query<{ previous_id: string; until: string }>(UNDONE, [
        accountId,
        facts.map(({ previousId }) => escapeText(previousId)),
      ]);
      return {
        revision,
        rows: byDistinctId(names.rows),
        stored: new Set(stored.rows.map((row) => factKey({ order: writeOrder(row) }))),
        undone: new Map(
          undone.rows.map(({ previous_id, until }) => [unescapeText(previous_id), Number(until)]),
        ),
      };
    },

    async loadPeople(accountId, ids, undo) {
      const names = await database.query<NameRow>(PEOPLE, [accountId, ids.map(escapeText)]);
      const rows = byDistinctId(names.rows);
      const answer = await database.query<{ previous_id: string; user_id: string } & OrderColumns>(
        FACTS,
        [
          accountId,
          [...new Set([...ids, ...rows.keys()])].map(escapeText),
          undo ? escapeText(undo.previousId) : '',
          undo?.until ?? -1,
        ],
      );
      const facts = answer.rows.map((row) => ({
        previousId: unescapeText(row.previous_id),
        userId: unescapeText(row.user_id),
        order: writeOrder(row),
      }));
      return { rows, facts };
    },

    async commit({ accountId, revision, facts, rows, undo }: Change) {
      const values = [
        accountId,
        revision,
        ...factColumns(facts),
        undo ? escapeText(undo.previousId) : null,
        undo?.until ?? null,
        ...nameColumns(rows),
      ];
      return (await database.query(COMMIT, values)).rows.length === 1;
    },

    async unpublished(accountId) {
      const upTo = await revisionOf(accountId);
      const answer = await database.query<{ name: string; canonical: string; revision: string }>(
        UNPUBLISHED,
        [accountId, upTo],
      );
      const rows = answer.rows.map(({ name, canonical, revision }) => ({
        distinctId: unescapeText(name),
        canonicalId: unescapeText(canonical),
        revision: Number(revision),
      }));
      return { upTo, rows };
    },

    async markPublished(accountId, upTo) {
      await database.query(PUBLISHED, [accountId, upTo]);
    },

    async unpublishedAccounts() {
      const answer = await database.query<{ account_id: string }>(
        'SELECT account_id FROM identity_accounts WHERE revision > published ORDER BY account_id',
      );
      return answer.rows.map(({ account_id }) => Number(account_id));
    },
  };
}

function byDistinctId(rows: readonly NameRow[]): Map<string, IdentityRow> {
  return new Map(rows.map(identityRow).map((row) => [row.distinctId, row]));
}

/** Columns previous_id, ORDER and user_id as arrays. */
function factColumns(facts: readonly AliasFact[]): unknown[][] {
  return [
    facts.map(({ previousId }) => escapeText(previousId)),
    ...orderColumns(facts.map(({ order }) => order)),
    facts.map(({ userId }) => escapeText(userId)),
  ];
}

/** Columns name, canonical, joined_to and ORDER as arrays. */
function nameColumns(rows: readonly IdentityRow[]): unknown[][] {
  return [
    rows.map(({ distinctId }) => escapeText(distinctId)),
    rows.map(({ canonicalId }) => escapeText(canonicalId)),
    rows.map(({ parent }) => (parent ? escapeText(parent.userId) : null)),
    ...orderColumns(rows.map(({ parent }) => parent?.order)),
  ];
}

function orderColumns(orders: readonly (WriteOrder | undefined)[]): (number | null)[][] {
  const column = (field: keyof WriteOrder) => orders.map((order) => order?.[field] ?? null);
  return [
    column('receivedAt'),
    column('epoch'),
    column('partition'),
    column('offset'),
    column('index'),
  ];
}
