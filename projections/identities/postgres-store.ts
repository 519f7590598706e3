import type { Database } from '../../platform/postgres/pool.ts';
import type { WriteOrder } from '../../events/write-order.ts';
import type { NameRow } from './advance.ts';
import { factKey, type AliasFact } from './alias-fact.ts';
import { unescapeText, escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Change, IdentityStore } from './store.ts';

/**
 * A row of alias_facts or the joined half of identity_names; PostgreSQL answers its bigints as
 * texts.
 */
type Place = Record<'received_at' | 'log_offset', string> &
  Record<'epoch' | 'partition' | 'log_index', number>;

const stampOf = (row: Place): WriteOrder => ({
  receivedAt: Number(row.received_at),
  epoch: row.epoch,
  partition: row.partition,
  offset: Number(row.log_offset),
  index: row.log_index,
});

type NameRecord = { name: string; canonical: string; joined_to: string | null } & Place;

function nameRow({ name: text, canonical, joined_to, ...place }: NameRecord): NameRow {
  const name = unescapeText(text);
  const via =
    joined_to === null
      ? undefined
      : { previousId: name, userId: unescapeText(joined_to), at: stampOf(place) };
  return { name, canonical: unescapeText(canonical), via };
}

const PLACE = 'received_at, epoch, partition, log_offset, log_index';
const NAME = `name, canonical, joined_to, ${PLACE}`;

// Each statement is complete by itself: the embedded PostgreSQL has one session for all clients.
const REVISION = `WITH made AS (INSERT INTO identity_accounts (account_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING revision)
  SELECT revision FROM made UNION ALL SELECT revision FROM identity_accounts WHERE account_id = $1`;
const NAMES = `SELECT ${NAME} FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[])`;
const STORED = `SELECT ${PLACE} FROM alias_facts JOIN unnest($2::text[], $3::bigint[], $4::int[], $5::int[], $6::bigint[], $7::int[])
  AS wanted (previous_id, received_at, epoch, partition, log_offset, log_index) USING (previous_id, ${PLACE}) WHERE account_id = $1`;
const UNDONE =
  'SELECT previous_id, until FROM alias_undos WHERE account_id = $1 AND previous_id = ANY($2::text[])';
const PEOPLE = `SELECT ${NAME} FROM identity_names WHERE account_id = $1
  AND canonical IN (SELECT canonical FROM identity_names WHERE account_id = $1 AND name = ANY($2::text[]))`;
const FACTS = `SELECT previous_id, user_id, ${PLACE} FROM alias_facts f WHERE account_id = $1 AND previous_id = ANY($2::text[])
  AND received_at > coalesce((SELECT until FROM alias_undos u WHERE u.account_id = $1 AND u.previous_id = f.previous_id), -1)
  AND NOT (previous_id = $3 AND received_at <= $4)`;
const COMMIT = `WITH turn AS (
    UPDATE identity_accounts SET revision = revision + 1 WHERE account_id = $1 AND revision = $2 RETURNING revision
  ), facts AS (
    INSERT INTO alias_facts (account_id, previous_id, ${PLACE}, user_id)
    SELECT $1, f.* FROM unnest($3::text[], $4::bigint[], $5::int[], $6::int[], $7::bigint[], $8::int[], $9::text[]) AS f, turn
    ON CONFLICT DO NOTHING
  ), undos AS (
    INSERT INTO alias_undos (account_id, previous_id, until) SELECT $1, $10::text, $11::bigint FROM turn WHERE $10::text IS NOT NULL
    ON CONFLICT (account_id, previous_id) DO UPDATE SET until = greatest(alias_undos.until, excluded.until)
  ), names AS (
    INSERT INTO identity_names (account_id, ${NAME}, revision)
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
  /**
   * Somebody else may be making the row just now: then it is not seen yet, and its revision is 0.
   */
  const revisionOf = async (accountId: number) =>
    Number(
      (await database.query<{ revision: string }>(REVISION, [accountId])).rows[0]?.revision ?? 0,
    );
  return {
    async look(accountId, facts) {
      // The revision comes first: what is read after it is either of it, or the commit finds
      // another one.
      const revision = await revisionOf(accountId);
      const names = [
        ...new Set(facts.flatMap(({ previousId, userId }) => [previousId, userId])),
      ].map(escapeText);
      const rows = (await database.query<NameRecord>(NAMES, [accountId, names])).rows.map(nameRow);
      const stored = await database.query<Place>(STORED, [
        accountId,
        ...factColumns(facts).slice(0, -1),
      ]);
      const undone = await database.query<{ previous_id: string; until: string }>(UNDONE, [
        accountId,
        facts.map(({ previousId }) => escapeText(previousId)),
      ]);
      return {
        revision,
        rows: new Map(rows.map((row) => [row.name, row])),
        stored: new Set(
          stored.rows.map((place) => factKey({ previousId: '', userId: '', at: stampOf(place) })),
        ),
        undone: new Map(
          undone.rows.map(({ previous_id, until }) => [unescapeText(previous_id), Number(until)]),
        ),
      };
    },

    async people(accountId, names, undo) {
      const rows = (
        await database.query<NameRecord>(PEOPLE, [accountId, names.map(escapeText)])
      ).rows.map(nameRow);
      const previous = [...new Set([...names, ...rows.map(({ name }) => name)])].map(escapeText);
      const answer = await database.query<{ previous_id: string; user_id: string } & Place>(FACTS, [
        ...[accountId, previous, undo ? escapeText(undo.previousId) : ''],
        undo?.until ?? -1,
      ]);
      const facts = answer.rows.map((row) => ({
        previousId: unescapeText(row.previous_id),
        userId: unescapeText(row.user_id),
        at: stampOf(row),
      }));
      return { rows: new Map(rows.map((row) => [row.name, row])), facts };
    },

    async commit({ accountId, revision, facts, rows, undo }: Change) {
      const values = [
        ...[accountId, revision, ...factColumns(facts)],
        ...[undo ? escapeText(undo.previousId) : null, undo?.until ?? null],
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
        name: unescapeText(name),
        canonical: unescapeText(canonical),
        revision: Number(revision),
      }));
      return { upTo, rows };
    },

    async published(accountId, upTo) {
      await database.query(PUBLISHED, [accountId, upTo]);
    },

    async accountsToPublish() {
      const answer = await database.query<{ account_id: string }>(
        'SELECT account_id FROM identity_accounts WHERE revision > published ORDER BY account_id',
      );
      return answer.rows.map(({ account_id }) => Number(account_id));
    },
  };
}

/** Columns previous_id, place, user_id as arrays. */
function factColumns(facts: readonly AliasFact[]): unknown[][] {
  return [
    facts.map(({ previousId }) => escapeText(previousId)),
    ...placeColumns(facts.map(({ at }) => at)),
    facts.map(({ userId }) => escapeText(userId)),
  ];
}

/** Columns name, canonical, joined_to, place as arrays. */
function nameColumns(rows: readonly NameRow[]): unknown[][] {
  return [
    rows.map(({ name }) => escapeText(name)),
    rows.map(({ canonical }) => escapeText(canonical)),
    rows.map(({ via }) => (via ? escapeText(via.userId) : null)),
    ...placeColumns(rows.map(({ via }) => via?.at)),
  ];
}

function placeColumns(stamps: readonly (WriteOrder | undefined)[]): (number | null)[][] {
  const of = (part: keyof WriteOrder) => stamps.map((stamp) => stamp?.[part] ?? null);
  return [of('receivedAt'), of('epoch'), of('partition'), of('offset'), of('index')];
}
