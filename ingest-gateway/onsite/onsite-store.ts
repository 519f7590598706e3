import type { OnsiteDefinition } from '../../events/channels/onsite/definition.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { StoredCampaign } from './catalogue.ts';
import type { AudienceChunk, AudienceLayout } from './memberships.ts';

/** A row with its place among all changes. */
export type Revised<T> = T & { revision: number };

/** On-site campaigns in PostgreSQL; every method rejects when it is unreachable. */
export interface OnsiteStore {
  /** Of the last change. */
  revision(): Promise<number>;
  /** Rows of greater revisions, ascending, at most a page; after 0 no campaign that has ended. */
  campaigns(after: number): Promise<Revised<StoredCampaign>[]>;
  layouts(after: number): Promise<Revised<AudienceLayout>[]>;
  chunks(after: number): Promise<Revised<AudienceChunk>[]>;
}

/** Rows of a page; chunks have 512 KiB at most. */
export const PAGE = { campaigns: 200, layouts: 1000, chunks: 8 } as const;
const DEADLINE = { ms: 10_000, waitingFor: 'on-site campaigns in PostgreSQL' };

interface CampaignColumns {
  id: string;
  account_id: string;
  definition: OnsiteDefinition;
  audience_key: string | null;
  starts_at: Date | null;
  ends_at: Date | null;
  enabled: boolean;
  updated_at: Date;
  revision: string;
}

export function connectOnsiteStore(database: Pick<Database, 'query'>): OnsiteStore {
  const read = async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await withDeadline(DEADLINE, database.query<Row>(sql, values))).rows;
  return {
    async revision() {
      const [row] = await read<{ revision: string }>('SELECT revision FROM onsite_revision');
      if (!row) throw new Error('the table onsite_revision is empty');
      return Number(row.revision);
    },
    async campaigns(after) {
      const rows = await read<CampaignColumns>(
        `SELECT id, account_id, definition, audience_key, starts_at, ends_at, enabled, updated_at, revision
         FROM onsite_campaigns WHERE revision > $1
           AND ($2 OR (coalesce(ends_at, 'infinity') > now() - interval '1 day' AND (enabled OR updated_at > now() - interval '1 day')))
         ORDER BY revision LIMIT ${PAGE.campaigns}`,
        [after, after > 0],
      );
      return rows.map(campaignOf);
    },
    async layouts(after) {
      const rows = await read<ChunkColumns & { bits: number | null }>(
        `SELECT account_id, audience, bits, revision FROM onsite_audiences WHERE revision > $1 ORDER BY revision LIMIT ${PAGE.layouts}`,
        [after],
      );
      return rows.map((row) => ({ ...chunkKey(row), bits: row.bits ?? undefined }));
    },
    async chunks(after) {
      const rows = await read<ChunkColumns & { bits: number; chunk: number; names: Uint8Array }>(
        `SELECT account_id, audience, bits, chunk, names, revision FROM onsite_audience_chunks WHERE revision > $1 ORDER BY revision LIMIT ${PAGE.chunks}`,
        [after],
      );
      return rows.map((row) => ({
        ...chunkKey(row),
        ...{ bits: row.bits, chunk: row.chunk, names: Buffer.from(row.names) },
      }));
    },
  };
}

interface ChunkColumns {
  account_id: string;
  audience: string;
  revision: string;
}

function chunkKey({ account_id, audience, revision }: ChunkColumns) {
  return { accountId: Number(account_id), audience, revision: Number(revision) };
}

function campaignOf(row: CampaignColumns): Revised<StoredCampaign> {
  return {
    id: Number(row.id),
    accountId: Number(row.account_id),
    definition: row.definition,
    audience: row.audience_key ?? undefined,
    startsAt: row.starts_at?.getTime() ?? -Infinity,
    endsAt: row.ends_at?.getTime() ?? Infinity,
    enabled: row.enabled,
    updatedAt: row.updated_at.getTime(),
    revision: Number(row.revision),
  };
}
