import type { Database } from '../../platform/postgres/pool.ts';

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
  definition: unknown;
}

/** Segments of one account; every method rejects when the store is unavailable. */
export interface SegmentStore {
  /** The 200 most recently updated (management 2.6). */
  list(accountId: number): Promise<Segment[]>;
  find(accountId: number, id: string): Promise<Segment | undefined>;
  create(accountId: number, draft: SegmentDraft): Promise<Segment>;
  /** Undefined: there is no such segment in this account. */
  replace(accountId: number, id: string, draft: SegmentDraft): Promise<Segment | undefined>;
  remove(accountId: number, id: string): Promise<void>;
}

const LISTED = 200;
const COLUMNS = 'id, name, definition, created_at, updated_at';

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
  return {
    list: (accountId) =>
      rows(
        `SELECT ${COLUMNS} FROM segments WHERE account_id = $1 ORDER BY updated_at DESC, id DESC LIMIT ${LISTED}`,
        [accountId],
      ),
    find: async (accountId, id) =>
      (
        await rows(`SELECT ${COLUMNS} FROM segments WHERE account_id = $1 AND id = $2`, [
          accountId,
          id,
        ])
      )[0],
    async create(accountId, { name, definition }) {
      const sql = `INSERT INTO segments (account_id, name, definition) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`;
      const [segment] = await rows(sql, [accountId, name, JSON.stringify(definition)]);
      if (!segment) throw new Error('the insert into segments returned no row');
      return segment;
    },
    async replace(accountId, id, { name, definition }) {
      const sql = `UPDATE segments SET name = $3, definition = $4, updated_at = clock_timestamp() WHERE account_id = $1 AND id = $2 RETURNING ${COLUMNS}`;
      return (await rows(sql, [accountId, id, name, JSON.stringify(definition)]))[0];
    },
    async remove(accountId, id) {
      await database.query('DELETE FROM segments WHERE account_id = $1 AND id = $2', [
        accountId,
        id,
      ]);
    },
  };
}

function segmentOf({ id, name, definition, created_at, updated_at }: Row): Segment {
  return {
    id: Number(id),
    name,
    definition,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
