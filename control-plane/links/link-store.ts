import { auditedChange } from '../../platform/audited-change.ts';
import type { ShortLink } from '../../messaging/links/short-link-store.ts';
import type { Store } from '../store.ts';

/** That members of one account made. */
export const MAX_LINKS = 10_000;

export interface MadeLink extends ShortLink {
  clicks: number;
  last_click_at: string | null;
  created_at: string;
}

const MADE = "account_id = $1::bigint AND position('sg_mid=' IN target) = 0";

/** Short links that people made; those of messages are counted with their campaigns. */
export function linkStore(store: Store) {
  return {
    /** Newest first. */
    async list(accountId: number, limit: number): Promise<MadeLink[]> {
      const { rows } = await store.query<
        ShortLink & { clicks: number; last_click_at: Date | null; created_at: Date }
      >(
        `SELECT code, target, clicks::float8 AS clicks, last_click_at, created_at FROM short_links WHERE ${MADE} ORDER BY created_at DESC, code LIMIT $2`,
        [accountId, limit],
      );
      return rows.map(({ last_click_at, created_at, ...link }) => ({
        ...link,
        last_click_at: last_click_at?.toISOString() ?? null,
        created_at: created_at.toISOString(),
      }));
    },
    /**
     * `taken`: the code leads elsewhere, and a stored link never changes. `full`: the account has
     * as many as it may.
     */
    async create(
      { accountId, memberId }: { accountId: number; memberId: number },
      { code, target }: ShortLink,
    ): Promise<'created' | 'known' | 'taken' | 'full'> {
      const made = await auditedChange(store, {
        statement: `INSERT INTO short_links (code, account_id, target) SELECT $2::text, $1::bigint, $3::text
          WHERE (SELECT count(*) FROM short_links WHERE ${MADE}) < ${MAX_LINKS} ON CONFLICT (code) DO NOTHING
          RETURNING account_id, jsonb_build_object('code', code) AS audit`,
        values: [accountId, code, target],
        ...{ actor: `member:${memberId}`, action: 'link.created', details: {} },
      });
      if (made.length > 0) return 'created';
      const { rows } = await store.query<{ is_same: boolean }>(
        'SELECT account_id = $1 AND target = $3 AS is_same FROM short_links WHERE code = $2',
        [accountId, code, target],
      );
      const [stored] = rows;
      return stored === undefined ? 'full' : stored.is_same ? 'known' : 'taken';
    },
  };
}

export type LinkStore = ReturnType<typeof linkStore>;
