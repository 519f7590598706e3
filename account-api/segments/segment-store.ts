import type { Database } from '../../platform/postgres/pool.ts';
import { canonicalDefinition } from '../../audiences/canonical.ts';
import { MAX_ACCOUNT_BYTES, MAX_SEGMENTS } from './limits.ts';

/** A segment as clients read it (reports: Audiences). */
export interface Segment {
  id: number;
  name: string;
  definition: unknown;
  created_at: string;
  updated_at: string;
}

export interface SegmentDraft {
  name: string;
  /** JSON text of the canonical definition. */
  definition: string;
}

/** `full`: the account holds as many segments, or bytes of definitions, as it may (limits.ts). */
export type Stored = Segment | 'not_found' | 'full';

/** Whose segment it is, and who changes it: `key:ID`. */
export interface Author {
  accountId: number;
  actor: string;
}

/**
 * Segments of one account; a change and its audit line are one statement. Every method rejects when
 * the store is unavailable.
 */
export interface SegmentStore {
  /**
   * The 200 most recently updated (management 2.6); of them the newest whose definitions have
   * MAX_ACCOUNT_BYTES together, which only segments from before the limits can exceed.
   */
  list(accountId: number): Promise<Segment[]>;
  find(accountId: number, id: string): Promise<Segment | undefined>;
  create(author: Author, draft: SegmentDraft): Promise<Stored>;
  replace(author: Author, segment: SegmentDraft & { id: string }): Promise<Stored>;
  remove(author: Author, id: string): Promise<void>;
}

const LISTED = 200;
const COLUMNS = 'id, name, definition, created_at, updated_at';
const NEWEST = 'ORDER BY updated_at DESC, id DESC';
/**
 * Concurrent requests see the same sums: an account may exceed its limits by what they store.
 */
const OTHERS = `SELECT count(*) AS segments, coalesce(sum(definition_bytes), 0) AS bytes FROM segments WHERE account_id = $1`;

/** Writes the audit line of each changed row; the actor and the action are the last values. */
const withAudit = (changed: string, values: number) => `WITH changed AS (${changed}), audited AS (
    INSERT INTO audit_lines (account_id, actor, action, details)
    SELECT $1::bigint, $${values + 1}::text, $${values + 2}::text, jsonb_build_object('segment_id', id) FROM changed
  ) SELECT * FROM changed`;

interface Row {
  id: string;
  name: string;
  definition: unknown;
  created_at: Date;
  updated_at: Date;
}

export function segmentStore(database: Database): SegmentStore {
  const rows = async (sql: string, values: readonly unknown[]) =>
    (await database.query<Row>(sql, [...values])).rows.map(segmentOf);
  const find = async (accountId: number, id: string) =>
    (
      await rows(`SELECT ${COLUMNS} FROM segments WHERE account_id = $1 AND id = $2`, [
        accountId,
        id,
      ])
    )[0];
  return {
    async list(accountId) {
      const { rows: sizes } = await database.query<{ id: string; definition_bytes: number }>(
        `SELECT id, definition_bytes FROM segments WHERE account_id = $1 ${NEWEST} LIMIT ${LISTED}`,
        [accountId],
      );
      return rows(
        `SELECT ${COLUMNS} FROM segments WHERE account_id = $1 AND id = ANY($2::bigint[]) ${NEWEST}`,
        [accountId, listedIds(sizes)],
      );
    },
    find,
    async create({ accountId, actor }, { name, definition }) {
      const sql = `INSERT INTO segments (account_id, name, definition)
        SELECT $1::bigint, $2::text, $3::json FROM (${OTHERS}) AS others WHERE segments < ${MAX_SEGMENTS} AND bytes + octet_length($3::text) <= ${MAX_ACCOUNT_BYTES}
        RETURNING ${COLUMNS}`;
      const values = [accountId, name, definition, actor, 'segment.created'];
      return (await rows(withAudit(sql, 3), values))[0] ?? 'full';
    },
    async replace({ accountId, actor }, { id, name, definition }) {
      // a definition that does not grow is stored also in an account that exceeds its limit
      const sql = `UPDATE segments SET name = $3, definition = $4::json, updated_at = clock_timestamp()
        FROM (${OTHERS} AND id <> $2) AS others
        WHERE account_id = $1 AND id = $2 AND (bytes + octet_length($4::text) <= ${MAX_ACCOUNT_BYTES} OR octet_length($4::text) <= definition_bytes)
        RETURNING ${COLUMNS}`;
      const values = [accountId, id, name, definition, actor, 'segment.changed'];
      const [segment] = await rows(withAudit(sql, 4), values);
      return segment ?? ((await find(accountId, id)) ? 'full' : 'not_found');
    },
    async remove({ accountId, actor }, id) {
      const sql = 'DELETE FROM segments WHERE account_id = $1 AND id = $2 RETURNING id';
      await database.query(withAudit(sql, 2), [accountId, id, actor, 'segment.removed']);
    },
  };
}

/** The newest segments that fit into one list; newest first. */
function listedIds(sizes: readonly { id: string; definition_bytes: number }[]): string[] {
  let left = MAX_ACCOUNT_BYTES;
  return sizes.flatMap(({ id, definition_bytes: bytes }) => {
    if (bytes > left) return [];
    left -= bytes;
    return [id];
  });
}

function segmentOf({ id, name, definition, created_at, updated_at }: Row): Segment {
  return {
    id: Number(id),
    name,
    // segments of earlier versions are stored as they were sent
    definition: canonicalDefinition(definition),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
