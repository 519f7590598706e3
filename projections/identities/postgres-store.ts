import type { Database } from '../../platform/postgres/pool.ts';
import type { WriteOrder } from '../../events/write-order.ts';
import { distinctIds, factKey, type AliasFact, type IdentityRow } from './alias-fact.ts';
import { unescapeText, escapeText } from '../../platform/postgres/escaped-text.ts';
import {
  addDecision,
  pairKey,
  pairOf,
  whyIgnored,
  type Decision,
  type Decisions,
} from './decisions.ts';
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

type FactRow = { previous_id: string; user_id: string } & OrderColumns;

function aliasFact(row: FactRow): AliasFact {
  return {
    previousId: unescapeText(row.previous_id),
    userId: unescapeText(row.user_id),
    order: writeOrder(row),
  };
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
const UNDOS =
  'SELECT previous_id, until, decided_at FROM alias_undos WHERE account_id = $1 AND previous_id = ANY($2::text[])';
const PAIRS = `SELECT name, other, apart, decided_at FROM alias_pairs
  JOIN unnest($2::text[], $3::text[]) AS wanted (name, other) USING (name, other) WHERE account_id = $1`;
const PEOPLE = `SELECT ${NAME_ROW} FROM identity_names WHERE account_id = $1
  AND canonical IN (SELECT canonical FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[]))`;
const FACTS = `SELECT previous_id, user_id, ${ORDER} FROM alias_facts WHERE account_id = $1 AND previous_id = ANY($2::text[])`;
const COMMIT = `WITH turn AS (
    UPDATE identity_accounts SET revision = revision + 1 WHERE account_id = $1 AND revision = $2 RETURNING revision
  ), facts AS (
    INSERT INTO alias_facts (account_id, previous_id, ${ORDER}, user_id)
    SELECT $1, f.* FROM unnest($3::text[], $4::bigint[], $5::int[], $6::int[], $7::bigint[], $8::int[], $9::text[]) AS f, turn
    ON CONFLICT DO NOTHING
  ), undos AS (
    INSERT INTO alias_undos (account_id, previous_id, until, decided_at) SELECT $1, $10::text, $11::bigint, $12::bigint FROM turn WHERE $10::text IS NOT NULL
    ON CONFLICT (account_id, previous_id) DO UPDATE SET until = greatest(alias_undos.until, excluded.until), decided_at = greatest(alias_undos.decided_at, excluded.decided_at)
  ), pairs AS (
    INSERT INTO alias_pairs (account_id, name, other, apart, decided_at) SELECT $1, $13::text, $14::text, $15::boolean, $16::bigint FROM turn WHERE $13::text IS NOT NULL
    ON CONFLICT (account_id, name, other) DO UPDATE SET apart = excluded.apart, decided_at = excluded.decided_at
      WHERE alias_pairs.decided_at < excluded.decided_at OR alias_pairs.decided_at = excluded.decided_at AND excluded.apart
  ), names AS (
    INSERT INTO identity_names (account_id, ${NAME_ROW}, revision)
    SELECT $1, n.*, turn.revision FROM unnest($17::text[], $18::text[], $19::text[], $20::bigint[], $21::int[], $22::int[], $23::bigint[], $24::int[]) AS n, turn
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
      return {
        revision,
        rows: byDistinctId(names.rows),
        stored: new Set(stored.rows.map((row) => factKey({ order: writeOrder(row) }))),
        decisions: await readDecisions(database, accountId, facts),
      };
    },

    async loadPeople(accountId, ids, decision) {
      const names = await database.query<NameRow>(PEOPLE, [accountId, ids.map(escapeText)]);
      const rows = byDistinctId(names.rows);
      const answer = await database.query<FactRow>(FACTS, [
        accountId,
        [...new Set([...ids, ...rows.keys()])].map(escapeText),
      ]);
      const facts = answer.rows.map(aliasFact);
      const decisions = await readDecisions(database, accountId, facts);
      if (decision) addDecision(decisions, decision);
      return { rows, facts: facts.filter((fact) => whyIgnored(fact, decisions) === undefined) };
    },

    async commit({ accountId, revision, facts, rows, decision }: Change) {
      const values = [
        accountId,
        revision,
        ...factColumns(facts),
        ...undoValues(decision),
        ...pairValues(decision),
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

/** What operators decided about these facts. */
export async function readDecisions(
  database: Pick<Database, 'query'>,
  accountId: number,
  facts: readonly Pick<AliasFact, 'previousId' | 'userId'>[],
): Promise<Decisions> {
  const undos = await database.query<UndoRow>(UNDOS, [
    accountId,
    [...new Set(facts.map(({ previousId }) => previousId))].map(escapeText),
  ]);
  const wanted = facts.map(pairOf);
  const unique = [...new Map(wanted.map((pair) => [pairKey(pair), pair])).values()];
  const pairs = await database.query<PairRow>(PAIRS, [
    accountId,
    unique.map(({ name }) => escapeText(name)),
    unique.map(({ other }) => escapeText(other)),
  ]);
  return decisionsOf(undos.rows, pairs.rows);
}

interface UndoRow {
  previous_id: string;
  until: string;
  decided_at: string;
}

interface PairRow {
  name: string;
  other: string;
  apart: boolean;
  decided_at: string;
}

/** Rows of alias_undos and alias_pairs of one account. */
function decisionsOf(undos: readonly UndoRow[], pairs: readonly PairRow[]): Decisions {
  return {
    undos: new Map(
      undos.map(({ previous_id, until, decided_at }) => [
        unescapeText(previous_id),
        { until: Number(until), decidedAt: Number(decided_at) },
      ]),
    ),
    pairs: new Map(
      pairs.map(({ name, other, apart, decided_at }) => [
        pairKey({ name: unescapeText(name), other: unescapeText(other) }),
        { isApart: apart, decidedAt: Number(decided_at) },
      ]),
    ),
  };
}

/** Columns of alias_undos; null for a decision about a pair. */
function undoValues(decision: Decision | undefined): (string | number | null)[] {
  if (decision?.kind !== 'undo') return [null, null, null];
  return [escapeText(decision.previousId), decision.until, decision.decidedAt];
}

/** Columns of alias_pairs; null for an undo. */
function pairValues(decision: Decision | undefined): (string | number | boolean | null)[] {
  if (!decision || decision.kind === 'undo') return [null, null, null, null];
  const { name, other } = pairOf(decision);
  return [
    ...[escapeText(name), escapeText(other)],
    ...[decision.kind === 'keep_apart', decision.decidedAt],
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
