import { hash } from 'node:crypto';
import {
  MAX_ACCOUNT_DEFINITION_BYTES,
  MAX_LIVE_CAMPAIGNS,
  type OnsiteCampaign,
} from '../../events/channels/onsite/definition.ts';
import { readOnsiteCampaign } from '../../events/channels/onsite/read-definition.ts';
import { canonicalDefinition } from '../../audiences/canonical.ts';
import { readAudience } from '../../audiences/read.ts';
import { auditedChange, type Queries } from '../../platform/audited-change.ts';
import { MAX_DEFINITION_BYTES } from '../segments/limits.ts';

/** Who changes campaigns of which account; `actor` as in AuditLine. */
interface Change {
  accountId: number;
  actor: string;
}

/** Reads a definition with its audience. Throws RefusedChange with what is wrong. */
export function readOnsite(sent: unknown): OnsiteCampaign {
  return readOnsiteCampaign(sent, (audience) => {
    const read = readAudience(audience);
    if (!read.ok) return read.message;
    const bytes = Buffer.byteLength(JSON.stringify(canonicalDefinition(audience)));
    return bytes > MAX_DEFINITION_BYTES
      ? `the definition is longer than ${MAX_DEFINITION_BYTES} bytes`
      : undefined;
  });
}

/** Campaigns of an account that may be shown now or later, and the bytes of their definitions. */
const LIVE = `(SELECT count(*) AS campaigns, coalesce(sum(definition_bytes), 0) AS bytes FROM onsite_campaigns
        WHERE account_id = $1 AND enabled AND coalesce(ends_at, 'infinity') > now()) AS live`;

/**
 * Stores a campaign with its audit line, in one statement; its id. Undefined: the account has as
 * many live ones as it may. Concurrent requests see the same sums: an account may exceed its limits
 * by what they store.
 */
export async function createOnsite(
  database: Queries,
  { accountId, actor, campaign }: Change & { campaign: OnsiteCampaign },
): Promise<number | undefined> {
  const { name, definition, startsAt, endsAt } = campaign;
  const audience = campaign.audience && JSON.stringify(canonicalDefinition(campaign.audience));
  const [row] = await auditedChange<{ id: string }>(database, {
    statement: `INSERT INTO onsite_campaigns (account_id, name, definition, audience, audience_key, starts_at, ends_at)
      SELECT $1::bigint, $2::text, $3::json, $4::json, $5::text, to_timestamp($6::bigint / 1000.0), to_timestamp($7::bigint / 1000.0)
      FROM ${LIVE}
      WHERE campaigns < $8 AND bytes + octet_length($3::text) <= $9
      RETURNING account_id, id, jsonb_build_object('campaign_id', id, 'name', name) AS audit`,
    values: [
      ...[accountId, name, JSON.stringify(definition)],
      ...[audience ?? null, audience === undefined ? null : hash('sha256', audience)],
      ...[startsAt ?? null, endsAt ?? null, MAX_LIVE_CAMPAIGNS, MAX_ACCOUNT_DEFINITION_BYTES],
    ],
    ...{ actor, action: 'onsite_campaign.created', details: { kind: definition.kind } },
  });
  return row && Number(row.id);
}

/** Shows a campaign no more, within seconds. False: the account has no such campaign. */
export async function endOnsite(
  database: Queries,
  { accountId, actor, id }: Change & { id: number },
): Promise<boolean> {
  const rows = await auditedChange(database, {
    statement: `UPDATE onsite_campaigns SET enabled = false, updated_at = clock_timestamp() WHERE account_id = $1 AND id = $2
        RETURNING account_id, jsonb_build_object('campaign_id', id) AS audit`,
    values: [accountId, id],
    ...{ actor, action: 'onsite_campaign.ended', details: {} },
  });
  return rows.length > 0;
}

/** Shows a campaign again. False: there is none, or the account has as many as it may. */
export async function resumeOnsite(
  database: Queries,
  { accountId, actor, id }: Change & { id: number },
): Promise<boolean> {
  const rows = await auditedChange(database, {
    statement: `UPDATE onsite_campaigns SET enabled = true, updated_at = clock_timestamp()
        FROM ${LIVE}
        WHERE account_id = $1 AND id = $2 AND campaigns < $3 AND bytes + definition_bytes <= $4
        RETURNING account_id, jsonb_build_object('campaign_id', id) AS audit`,
    values: [accountId, id, MAX_LIVE_CAMPAIGNS, MAX_ACCOUNT_DEFINITION_BYTES],
    ...{ actor, action: 'onsite_campaign.resumed', details: {} },
  });
  return rows.length > 0;
}

export interface StoredOnsite {
  id: number;
  name: string;
  definition: unknown;
  has_audience: boolean;
  enabled: boolean;
  starts_at: string | null;
  ends_at: string | null;
  created_at: string;
}

/** Newest first. */
export async function listOnsite(
  database: Queries,
  accountId: number,
  limit: number,
): Promise<StoredOnsite[]> {
  const { rows } = await database.query<
    Omit<StoredOnsite, 'id' | 'starts_at' | 'ends_at' | 'created_at'> & {
      id: string;
      starts_at: Date | null;
      ends_at: Date | null;
      created_at: Date;
    }
  >(
    'SELECT id, name, definition, audience IS NOT NULL AS has_audience, enabled, starts_at, ends_at, created_at FROM onsite_campaigns WHERE account_id = $1 ORDER BY id DESC LIMIT $2',
    [accountId, limit],
  );
  return rows.map(({ id, starts_at, ends_at, created_at, ...campaign }) => ({
    ...{ id: Number(id), ...campaign },
    starts_at: starts_at?.toISOString() ?? null,
    ends_at: ends_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  }));
}
