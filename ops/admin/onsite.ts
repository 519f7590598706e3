import { RefusedChange } from '../../events/channels/fields.ts';
import {
  MAX_ACCOUNT_DEFINITION_BYTES,
  MAX_LIVE_CAMPAIGNS,
  type OnsiteCampaign,
} from '../../events/channels/onsite/definition.ts';
import { createOnsite, endOnsite, readOnsite } from '../../account-api/onsite/onsite-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, requireAccount } from './command.ts';
import { readJsonInput } from './read-input.ts';

const CREATE_USAGE = 'onsite create --account ID < campaign.json';
const OPERATOR = { actor: 'operator' };

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

/** `./ravand admin onsite end`: a campaign is not shown any more. */
export const onsiteEnd = adminCommand({
  name: 'onsite end',
  usage: 'onsite end --account ID --id N',
  options: { account: REQUIRED, id: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    const id = idOption(line.values, 'id');
    if (!(await endOnsite(database, { ...OPERATOR, accountId, id })))
      throw new CommandError(`the account ${accountId} has no on-site campaign ${id}`);
    return { campaign_id: id, enabled: false };
  },
});

/** Reads a definition with its audience. Throws CommandError with what is wrong. */
export function readCampaign(sent: unknown): OnsiteCampaign {
  try {
    return readOnsite(sent);
  } catch (error) {
    if (error instanceof RefusedChange) throw new CommandError(error.message);
    throw error;
  }
}

/** Stores a campaign with its audit line; its id. Throws CommandError. */
export async function createOnsiteCampaign(
  database: Pick<Database, 'query'>,
  { accountId, campaign }: { accountId: number; campaign: OnsiteCampaign },
): Promise<number> {
  const id = await createOnsite(database, { ...OPERATOR, accountId, campaign });
  if (id === undefined)
    throw new CommandError(
      `an account has at most ${MAX_LIVE_CAMPAIGNS} live on-site campaigns with ${MAX_ACCOUNT_DEFINITION_BYTES} bytes of definitions: end some with ./ravand admin onsite end`,
    );
  return id;
}
