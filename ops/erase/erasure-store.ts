import { addressHash, idHash } from '../../events/erasure/erased-people.ts';
import { escapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import {
  COLUMNS,
  erasureRow,
  type Barrier,
  type Ends,
  type ErasureRow,
  type ErasureState,
  type MinuteCounts,
  type StoredErasure,
} from './erasure-row.ts';
import type { ErasureCommand, ErasureCut } from '../../schemas/records.ts';

type Queries = Pick<Database, 'query'>;

/** The erasures in PostgreSQL. Every statement may be repeated. */
export class ErasureStore {
  readonly #database: Queries;

  constructor(database: Queries) {
    this.#database = database;
  }

  async all(): Promise<ErasureRow[]> {
    const { rows } = await this.#database.query<StoredErasure>(
      `SELECT ${COLUMNS} FROM erasures ORDER BY id`,
    );
    return rows.map(erasureRow);
  }

  async find(id: number): Promise<ErasureRow | undefined> {
    const { rows } = await this.#database.query<StoredErasure>(
      `SELECT ${COLUMNS} FROM erasures WHERE id = $1`,
      [id],
    );
    return rows[0] && erasureRow(rows[0]);
  }

  /**
   * Adds an erasure with its audit line, unless one of the same person waits for its cut; that one
   * is continued.
   */
  async request(accountId: number, names: readonly string[]): Promise<number> {
    const { rows: keys } = await this.#database.query<{ id: number; key: Buffer }>(
      'SELECT id, key FROM erasure_keys WHERE key IS NOT NULL ORDER BY id DESC LIMIT 1',
    );
    const [newest] = keys;
    if (!newest) throw new Error('erasure_keys is empty: run ./ravand erase rotate-key');
    const hashes = names.map((name) => idHash(newest.key, accountId, name));
    const { rows } = await this.#database.query<{ id: string }>(
      `WITH open AS (
         SELECT id FROM erasures WHERE account_id = $1 AND state IN ('requested', 'recorded', 'enforced')
           AND name_hashes @> $3::bytea[] ORDER BY id LIMIT 1
       ), made AS (
         INSERT INTO erasures (account_id, key_id, name_hashes, names)
         SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM open)
           AND EXISTS (SELECT 1 FROM erasure_keys WHERE id = $2 AND key IS NOT NULL) RETURNING id
       ), audited AS (
         INSERT INTO audit_lines (account_id, actor, action, details)
         SELECT $1, 'operator', 'erasure.requested',
           jsonb_build_object('erasure', id, 'names', cardinality($3::bytea[])) FROM made
       ) SELECT id FROM made UNION ALL SELECT id FROM open`,
      [accountId, newest.id, hashes, names.map(escapeText)],
    );
    // The key was destroyed meanwhile: there is a newer one.
    return rows[0] ? Number(rows[0].id) : this.request(accountId, names);
  }

  /** The cut, decided once: a second decision changes nothing. */
  async cutAt(id: number, cuts: readonly ErasureCut[], since: Ends): Promise<void> {
    await this.#database.query(
      `UPDATE erasures SET cuts = $2, since = $3, changed_at = clock_timestamp()
       WHERE id = $1 AND cuts IS NULL`,
      [id, JSON.stringify(cuts), JSON.stringify(since)],
    );
  }

  async awaits(id: number, barrier: Barrier): Promise<void> {
    await this.#set(id, 'barrier = coalesce(barrier, $2::jsonb)', JSON.stringify(barrier));
  }

  /** The time of PostgreSQL, for `counted`. */
  async clock(): Promise<string> {
    const { rows } = await this.#database.query<{ at: string }>(
      'SELECT clock_timestamp()::text AS at',
    );
    return rows[0]?.at ?? '';
  }

  /**
   * Records what the books will move, counted after `since`. Resolves with false when retention or
   * an erasure of the same names has counted the same rows since then, and not yet removed them:
   * they would be moved twice.
   */
  async counted(id: number, counts: MinuteCounts, since: string): Promise<boolean> {
    const { rowCount } = await this.#database.query(
      `UPDATE erasures e SET counts = coalesce(counts, $2::jsonb), changed_at = clock_timestamp()
       WHERE id = $1 AND (counts IS NOT NULL OR NOT EXISTS (
         SELECT 1 FROM retention_steps r WHERE r.account_id = e.account_id
         UNION ALL SELECT 1 FROM retention_limits l WHERE l.account_id = e.account_id AND l.closed_at >= $3::timestamptz
         UNION ALL SELECT 1 FROM erasures o WHERE o.account_id = e.account_id AND o.id <> e.id AND o.counts IS NOT NULL
           AND o.names && e.names AND (o.state = 'enforced' OR o.changed_at >= $3::timestamptz)))`,
      [id, JSON.stringify(counts), since],
    );
    return rowCount === 1;
  }

  /** Adds addresses that only the person had, by their hashes, before they are removed. */
  async hasAddresses(
    { id, accountId, keyId }: Pick<ErasureRow, 'id' | 'accountId' | 'keyId'>,
    addresses: readonly { channel: string; address: string }[],
  ): Promise<void> {
    const { rows } = await this.#database.query<{ key: Buffer }>(
      'SELECT key FROM erasure_keys WHERE id = $1 AND key IS NOT NULL',
      [keyId],
    );
    const [key] = rows;
    if (!key)
      throw new Error(`the key ${keyId} of erasure ${id} is missing in erasure_keys: restore it`);
    await this.#database.query(
      `UPDATE erasures SET changed_at = clock_timestamp(), address_hashes =
         (SELECT coalesce(array_agg(DISTINCT hash), '{}') FROM unnest(address_hashes || $2::bytea[]) AS hash)
       WHERE id = $1`,
      [id, addresses.map((one) => addressHash(key.key, { accountId, ...one }))],
    );
  }

  /**
   * No audience is made of the removed profiles any more: messages that were planned until now are
   * the person's. Decided once. Resolves with the time, ms since the epoch.
   */
  async endMessages({ id, accountId }: Pick<ErasureRow, 'id' | 'accountId'>): Promise<number> {
    const { rows } = await this.#database.query<{ until: number }>(
      `UPDATE erasures SET changed_at = clock_timestamp(), messages_until = coalesce(messages_until,
         greatest(clock_timestamp(), (SELECT max(frozen_at) FROM campaign_runs WHERE account_id = $2)))
       WHERE id = $1 RETURNING extract(epoch FROM messages_until)::float8 * 1000 AS until`,
      [id, accountId],
    );
    if (!rows[0]) throw new Error(`there is no erasure ${id}`);
    return rows[0].until;
  }

  async removedFrom(id: number, removed: Readonly<Record<string, number>>): Promise<void> {
    await this.#set(id, 'removed = removed || $2::jsonb', JSON.stringify(removed));
  }

  async advance(id: number, from: ErasureState, to: ErasureState): Promise<void> {
    await this.#database.query(
      `UPDATE erasures SET state = $3, changed_at = clock_timestamp() WHERE id = $1 AND state = $2`,
      [id, from, to],
    );
  }

  /**
   * The removal is complete: the books move its rows from stored to expired, and an audit line says
   * what was removed from each store, in one statement. A minute whose day is folded gets a row,
   * which is added to the day.
   */
  async finishRemoval({ id, counts = [] }: ErasureRow): Promise<void> {
    await this.#database.query(
      `WITH done AS (
         UPDATE erasures SET state = 'removed', changed_at = clock_timestamp()
         WHERE id = $1 AND state = 'enforced' RETURNING id, account_id, removed
       ), audited AS (
         INSERT INTO audit_lines (account_id, actor, action, details)
         SELECT account_id, 'operator', 'erasure.removed',
           jsonb_build_object('erasure', id, 'events', $4::bigint, 'removed', removed) FROM done
       )
       INSERT INTO books (account_id, minute, expired, stored, open)
       SELECT done.account_id, gone.minute, gone.n, -gone.n, false
       FROM done, unnest($2::timestamptz[], $3::bigint[]) AS gone (minute, n)
       ON CONFLICT (account_id, minute) DO UPDATE SET expired = books.expired + excluded.expired,
         stored = books.stored + excluded.stored, changed_at = clock_timestamp()`,
      [
        id,
        counts.map(([minute]) => new Date(minute * 1000)),
        counts.map(([, rows]) => rows),
        counts.reduce((sum, [, rows]) => sum + rows, 0),
      ],
    );
  }

  /** Everything that was removed is gone from the log, too. */
  async rewritten(ids: readonly number[]): Promise<void> {
    await this.#database.query(
      `WITH done AS (
         UPDATE erasures SET state = 'rewritten', changed_at = clock_timestamp()
         WHERE id = ANY($1::bigint[]) AND state = 'removed' RETURNING id, account_id
       )
       INSERT INTO audit_lines (account_id, actor, action, details)
       SELECT account_id, 'operator', 'erasure.rewritten', jsonb_build_object('erasure', id) FROM done`,
      [ids],
    );
  }

  /** Nothing was found after the log was rewritten: the names are no longer needed. */
  async verified(id: number): Promise<void> {
    await this.#database.query(
      `WITH done AS (
         UPDATE erasures SET names = NULL, verified_at = clock_timestamp(),
           changed_at = clock_timestamp() WHERE id = $1 AND state = 'rewritten' AND verified_at IS NULL
         RETURNING id, account_id
       )
       INSERT INTO audit_lines (account_id, actor, action, details)
       SELECT account_id, 'operator', 'erasure.verified', jsonb_build_object('erasure', id) FROM done`,
      [id],
    );
  }

  /** A new key for new erasures. Resolves with how many older keys were destroyed. */
  async rotateKey(key: Buffer): Promise<number> {
    await this.#database.query('INSERT INTO erasure_keys (key) VALUES ($1)', [key]);
    const { rows } = await this.#database.query<{ destroyed: number }>(
      `WITH gone AS (
         UPDATE erasure_keys SET key = NULL WHERE key IS NOT NULL
           AND id < (SELECT max(id) FROM erasure_keys)
           AND NOT EXISTS (SELECT 1 FROM erasures WHERE key_id = erasure_keys.id AND verified_at IS NULL)
         RETURNING id
       ), counted AS (SELECT count(*)::int AS destroyed FROM gone), audited AS (
         INSERT INTO audit_lines (actor, action, details)
         SELECT 'operator', 'erasure.key_rotated', jsonb_build_object('destroyed', destroyed) FROM counted
       ) SELECT destroyed FROM counted`,
    );
    return rows[0]?.destroyed ?? 0;
  }

  /**
   * Takes an erasure over from the log: PostgreSQL was restored to a time before it. Resolves with
   * its number, which is another one when an erasure was made since then; undefined: it is there.
   * 'keyless': the key of its names is lost, or another one has its number.
   */
  async restore(command: ErasureCommand): Promise<number | 'keyless' | undefined> {
    const { id, account_id, key_id, names, cuts, requested_at } = command;
    const at = new Date(requested_at);
    const { rows: known } = await this.#database.query<{ exists: boolean; key: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM erasures WHERE account_id = $1 AND name_hashes = $2
           AND requested_at BETWEEN $3::timestamptz - interval '1 second' AND $3::timestamptz + interval '1 second') AS exists,
         EXISTS (SELECT 1 FROM erasure_keys WHERE id = $4 AND key IS NOT NULL
           AND created_at <= $3::timestamptz + interval '1 second') AS key`,
      [account_id, names, at, key_id],
    );
    if (known[0]?.exists === true) return undefined;
    if (known[0]?.key !== true) return 'keyless';
    await this.#database.query(
      `SELECT setval(pg_get_serial_sequence('erasures', 'id'),
         greatest((SELECT max(id) FROM erasures), (SELECT last_value FROM erasures_id_seq), 1))`,
    );
    const { rows } = await this.#database.query<{ id: string }>(
      `WITH made AS (
         INSERT INTO erasures (id, account_id, key_id, name_hashes, state, cuts, requested_at, messages_until)
         SELECT CASE WHEN EXISTS (SELECT 1 FROM erasures WHERE id = $1)
             THEN nextval(pg_get_serial_sequence('erasures', 'id')) ELSE $1 END,
           $2, $3, $4, 'removed', $5, $6, $6
         RETURNING id, account_id
       ), audited AS (
         INSERT INTO audit_lines (account_id, actor, action, details)
         SELECT account_id, 'operator', 'erasure.restored', jsonb_build_object('erasure', id) FROM made
       ) SELECT id FROM made`,
      [id, account_id, key_id, names, JSON.stringify(cuts), at],
    );
    await this.#database.query(
      `SELECT setval(pg_get_serial_sequence('erasures', 'id'),
         greatest((SELECT max(id) FROM erasures), (SELECT last_value FROM erasures_id_seq)))`,
    );
    return Number(rows[0]?.id);
  }

  async #set(id: number, assignment: string, value: string): Promise<void> {
    await this.#database.query(
      `UPDATE erasures SET ${assignment}, changed_at = clock_timestamp() WHERE id = $1`,
      [id, value],
    );
  }
}

/** The fact in the log. */
export function commandOf(erasure: ErasureRow): ErasureCommand {
  return {
    id: erasure.id,
    account_id: erasure.accountId,
    key_id: erasure.keyId,
    names: [...erasure.hashes],
    requested_at: Math.round(erasure.requestedAt),
    cuts: [...(erasure.cuts ?? [])],
  };
}
