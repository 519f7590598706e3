import { hash } from 'node:crypto';
import { RefusedChange } from '../../events/channels/fields.ts';
import {
  MAX_ACCOUNT_DEFINITION_BYTES,
  MAX_LIVE_CAMPAIGNS,
  type OnsiteCampaign,
} from '../../events/channels/onsite/definition.ts';
import { readOnsiteCampaign } from '../../events/channels/onsite/read-definition.ts';
import { readAudience } from '../../audiences/read.ts';
import { canonicalDefinition } from '../../audiences/canonical.ts';
import { MAX_DEFINITION_BYTES } from '../../account-api/segments/limits.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { auditedChange } from './audited-change.ts';
import { adminCommand, idOption, requireAccount } from './command.ts';
import { readJsonInput } from './read-input.ts';

const CREATE_USAGE = 'onsite create --account ID < campaign.json';

/** `./ravand admin onsite create`: stores an on-site campaign; gateways show it within seconds. */
export const onsiteCreate = adminCommand({
  name: 'onsite create',
  usage: CREATE_USAGE,
  options: { account: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    await requireAccount(database, accountId);
    const campaign = readCampaign(await readJsonInput(CREATE_USAGE));
    return { campaign_id: await createOnsiteCampaign(database, { accountId, campaign }) };
  },
});

/** `./ravand admin onsite end`: a campaign is not shown any more, for good. */
export const onsiteEnd = adminCommand({
  name: 'onsite end',
  usage: 'onsite end --account ID --id N',
  options: { account: REQUIRED, id: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    const id = idOption(line.values, 'id');
    const [row] = await auditedChange(database, {
      statement: `UPDATE onsite_campaigns SET enabled = false, updated_at = clock_timestamp() WHERE account_id = $1 AND id = $2
        RETURNING account_id, jsonb_build_object('campaign_id', id) AS audit`,
      ...{ values: [accountId, id], action: 'onsite_campaign.ended', details: {} },
    });
    if (!row) throw new CommandError(`the account ${accountId} has no on-site campaign ${id}`);
    return { campaign_id: id, enabled: false };
  },
});

/** Reads a definition with its audience. Throws CommandError with what is wrong. */
export function readCampaign(sent: unknown): OnsiteCampaign {
  try {
    return readOnsiteCampaign(sent, (audience) => {
      const read = readAudience(audience);
      if (!read.ok) return read.message;
      const bytes = Buffer.byteLength(JSON.stringify(canonicalDefinition(audience)));
      return bytes > MAX_DEFINITION_BYTES
        ? `the definition is longer than ${MAX_DEFINITION_BYTES} bytes`
        : undefined;
    });
  } catch (error) {
    if (error instanceof RefusedChange) throw new CommandError(error.message);
    throw error;
  }
}

/** Stores a campaign with its audit line, in one statement; its id. Throws CommandError. */
export async function createOnsiteCampaign(
  database: Pick<Database, 'query'>,
  { accountId, campaign }: { accountId: number; campaign: OnsiteCampaign },
): Promise<number> {
  const { name, definition, startsAt, endsAt } = campaign;
  const audience = campaign.audience && JSON.stringify(canonicalDefinition(campaign.audience));
  const [row] = await auditedChange<{ id: string }>(database, {
    // Concurrent commands see the same sums: an account may exceed its limits by what they store.
    statement: `INSERT INTO onsite_campaigns (account_id, name, definition, audience, audience_key, starts_at, ends_at)
      SELECT $1::bigint, $2::text, $3::json, $4::json, $5::text, to_timestamp($6::bigint / 1000.0), to_timestamp($7::bigint / 1000.0)
      FROM (SELECT count(*) AS campaigns, coalesce(sum(definition_bytes), 0) AS bytes FROM onsite_campaigns
        WHERE account_id = $1 AND enabled AND coalesce(ends_at, 'infinity') > now()) AS live
      WHERE campaigns < $8 AND bytes + octet_length($3::text) <= $9
      RETURNING account_id, id, jsonb_build_object('campaign_id', id, 'name', name) AS audit`,
    values: [
      ...[accountId, name, JSON.stringify(definition)],
      ...[audience ?? null, audience === undefined ? null : hash('sha256', audience)],
      ...[startsAt ?? null, endsAt ?? null, MAX_LIVE_CAMPAIGNS, MAX_ACCOUNT_DEFINITION_BYTES],
    ],
    action: 'onsite_campaign.created',
    details: { kind: definition.kind },
  });
  if (!row)
    throw new CommandError(
      `an account has at most ${MAX_LIVE_CAMPAIGNS} live on-site campaigns with ${MAX_ACCOUNT_DEFINITION_BYTES} bytes of definitions: end some with ./ravand admin onsite end`,
    );
  return Number(row.id);
}
