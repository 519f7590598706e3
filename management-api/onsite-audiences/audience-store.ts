import type { Database } from '../../platform/postgres/pool.ts';
import type { Chunk } from './chunks.ts';

/** An audience that a worker has claimed. */
export interface ClaimedAudience {
  accountId: number;
  /** Digest of the definition. */
  audience: string;
  definition: unknown;
  /** Of the chunks that are stored; undefined: never computed. */
  bits: number | undefined;
  /** Names of the account's other audiences. */
  otherNames: number;
  /** Rises with each claim. */
  attempt: string;
}

/** What is stored of an audience when it was computed. */
export interface ComputedAudience {
  bits: number;
  names: number;
  /** ms since the epoch */
  computedAt: number;
  /** Why it has no members; empty otherwise. */
  error: string;
}

/** Time between two computations of an audience, s: with the gateways' poll below a minute. */
export const EVERY_SECONDS = 30;
/** A worker that does not finish within it loses the audience, s. */
export const LEASE_SECONDS = 120;

const LIVE = `c.enabled AND coalesce(c.ends_at, 'infinity') > now() AND coalesce(c.starts_at, '-infinity') < now() + interval '5 minutes'`;

/**
 * The audiences of on-site campaigns in PostgreSQL (0052_onsite.sql). Each method is one statement
 * and rejects when the store is unavailable.
 */
export class AudienceStore {
  readonly #database: Pick<Database, 'query'>;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /**
   * Adds the audiences of live campaigns, and removes those that no live campaign has. False: there
   * is none, which one cheap statement says.
   */
  async synchronise(): Promise<boolean> {
    const { rows } = await this.#database.query<{ any: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM onsite_campaigns WHERE enabled AND audience_key IS NOT NULL) OR EXISTS (SELECT 1 FROM onsite_audiences) AS any`,
    );
    if (rows[0]?.any !== true) return false;
    await this.#database.query(
      `INSERT INTO onsite_audiences (account_id, audience, definition)
       SELECT DISTINCT ON (c.account_id, c.audience_key) c.account_id, c.audience_key, c.audience
       FROM onsite_campaigns c WHERE c.audience_key IS NOT NULL AND ${LIVE}
         AND NOT EXISTS (SELECT 1 FROM onsite_audiences a WHERE a.account_id = c.account_id AND a.audience = c.audience_key)
       ON CONFLICT (account_id, audience) DO NOTHING`,
    );
    await this.#database.query(
      `DELETE FROM onsite_audiences a
       WHERE NOT EXISTS (SELECT 1 FROM onsite_campaigns c WHERE c.account_id = a.account_id AND c.audience_key = a.audience AND ${LIVE})`,
    );
    return true;
  }

  /**
   * Claims the audience that is due; accounts take turns. Undefined: there is none.
   * @param except accounts of which none is claimed
   */
  async claim(except: readonly number[] = []): Promise<ClaimedAudience | undefined> {
    const { rows } = await this.#database.query<{
      account_id: string;
      audience: string;
      definition: unknown;
      bits: number | null;
      other_names: string;
      attempt: string;
    }>(
      `WITH due AS (
         SELECT a.account_id, a.audience
         FROM onsite_audiences a JOIN (
           SELECT account_id, audience, max(started_at) OVER (PARTITION BY account_id) AS served_at FROM onsite_audiences
         ) s ON s.account_id = a.account_id AND s.audience = a.audience
         WHERE a.account_id <> ALL ($1::bigint[]) AND coalesce(a.leased_until, '-infinity') <= clock_timestamp()
           AND coalesce(a.computed_at, '-infinity') < clock_timestamp() - interval '${EVERY_SECONDS} seconds'
         ORDER BY s.served_at NULLS FIRST, a.started_at NULLS FIRST, a.account_id, a.audience
         LIMIT 1 FOR UPDATE OF a SKIP LOCKED
       )
       UPDATE onsite_audiences a SET started_at = clock_timestamp(), attempt = attempt + 1,
         leased_until = clock_timestamp() + interval '${LEASE_SECONDS} seconds'
       FROM due WHERE a.account_id = due.account_id AND a.audience = due.audience
       RETURNING a.account_id, a.audience, a.definition, a.bits, a.attempt,
         (SELECT coalesce(sum(o.names), 0) FROM onsite_audiences o WHERE o.account_id = a.account_id AND o.audience <> a.audience) AS other_names`,
      [except],
    );
    const [row] = rows;
    return (
      row && {
        accountId: Number(row.account_id),
        audience: row.audience,
        definition: row.definition,
        bits: row.bits ?? undefined,
        otherNames: Number(row.other_names),
        attempt: row.attempt,
      }
    );
  }

  /** The digests of the stored chunks of a layout, by chunk. */
  async digests(
    { accountId, audience }: ClaimedAudience,
    bits: number,
  ): Promise<Map<number, string>> {
    const { rows } = await this.#database.query<{ chunk: number; digest: string }>(
      `SELECT chunk, encode(digest, 'hex') AS digest FROM onsite_audience_chunks WHERE account_id = $1 AND audience = $2 AND bits = $3`,
      [accountId, audience, bits],
    );
    return new Map(rows.map(({ chunk, digest }) => [chunk, digest]));
  }

  async writeChunk(
    { accountId, audience }: ClaimedAudience,
    { bits, chunk, names, digest }: Chunk & { bits: number },
  ): Promise<void> {
    await this.#database.query(
      `INSERT INTO onsite_audience_chunks (account_id, audience, bits, chunk, names, digest)
       SELECT $1, $2, $3, $4, $5, decode($6, 'hex') WHERE EXISTS (SELECT 1 FROM onsite_audiences WHERE account_id = $1::bigint AND audience = $2::text)
       ON CONFLICT (account_id, audience, bits, chunk) DO UPDATE SET names = excluded.names, digest = excluded.digest`,
      [accountId, audience, bits, chunk, names, digest],
    );
  }

  /** Makes the chunks of a layout count. False: another worker has claimed the audience since. */
  async finish(claimed: ClaimedAudience, computed: ComputedAudience): Promise<boolean> {
    const { rows } = await this.#database.query(
      `WITH finished AS (
         UPDATE onsite_audiences SET bits = $4, names = $5, computed_at = to_timestamp($6 / 1000.0), error = $7, leased_until = NULL
         WHERE account_id = $1 AND audience = $2 AND attempt = $3 RETURNING account_id, audience
       ), removed AS (
         DELETE FROM onsite_audience_chunks c USING finished f WHERE c.account_id = f.account_id AND c.audience = f.audience AND c.bits <> $4
       )
       SELECT 1 FROM finished`,
      [
        ...[claimed.accountId, claimed.audience, claimed.attempt],
        ...[computed.bits, computed.names, computed.computedAt, computed.error],
      ],
    );
    return rows.length > 0;
  }

  /** Gives a claimed audience back; it is due again after some time, s. */
  async release({ accountId, audience, attempt }: ClaimedAudience, after: number): Promise<void> {
    await this.#database.query(
      `UPDATE onsite_audiences SET leased_until = clock_timestamp() + make_interval(secs => $4) WHERE account_id = $1 AND audience = $2 AND attempt = $3`,
      [accountId, audience, attempt, after],
    );
  }

  /** The age of the members that were computed longest ago, s; 0 without audiences. */
  async oldestAge(): Promise<number> {
    const { rows } = await this.#database.query<{ age: string | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - min(coalesce(computed_at, started_at))) AS age FROM onsite_audiences`,
    );
    return Number(rows[0]?.age ?? 0);
  }
}
