import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Channel } from '../../events/channels/channel-change.ts';
import { parseTrackingKeys } from '../../events/channels/tracking-keys.ts';
import type { TrackingTokens } from '../../events/channels/tracking-token.ts';
import { tryTracking } from '../../ops/admin/tracking.ts';
import { readAddresses, type PersonChannels } from '../../platform/addresses/read-addresses.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { eventually } from './stack.ts';

type Queries = Pick<Database, 'query'>;

/** TRACKING_KEYS of the stack under test. */
export function trackingKeys(): string {
  const given = process.env['TRACKING_KEYS']?.trim() ?? '';
  const home = process.env['RAVAND_HOME'] ?? '';
  return given === '' ? readFileSync(join(home, 'tracking-keys'), 'utf8').trim() : given;
}

/** The keys under which the stack under test signs tokens. */
export function trackingTokens(): TrackingTokens {
  const tokens = parseTrackingKeys(trackingKeys());
  if (!tokens) throw new Error('the stack under test has no TRACKING_KEYS');
  return tokens;
}

/** The addresses of a message to a user, whose recipient is stored. */
export function trackedMessage(
  database: Queries,
  message: { accountId: number; userId: string; channel?: Channel; address?: string },
): ReturnType<typeof tryTracking> {
  return tryTracking(
    { channel: 'email', address: `${message.userId}@example.ir`, ...message },
    { database, tokens: trackingTokens() },
  );
}

/** What is known of a user once it is as wanted: registrations become visible after a moment. */
export async function channelsOnce(
  database: Queries,
  person: { accountId: number; userId: string },
  isWanted: (found: PersonChannels) => boolean,
): Promise<PersonChannels> {
  let last: PersonChannels | undefined;
  try {
    return await eventually({ ms: 30_000, waitingFor: 'the addresses' }, async () => {
      last = await readAddresses(database, person);
      return isWanted(last) ? last : undefined;
    });
  } catch (error) {
    throw new Error(`they are ${JSON.stringify(last)}`, { cause: error });
  }
}
