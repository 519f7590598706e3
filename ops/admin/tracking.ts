import { randomBytes } from 'node:crypto';
import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import { REF_BYTES, type TrackingTokens } from '../../events/channels/tracking-token.ts';
import { recordAudit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { parseSettings } from '../../platform/settings.ts';
import { addMessageRecipients } from '../../platform/tracking/message-recipients.ts';
import {
  rotatedTrackingKeys,
  trackingSettings,
} from '../../platform/tracking/tracking-settings.ts';
import { OPTIONAL, REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, requireAccount, textOption } from './command.ts';

/**
 * `./ravand admin tracking rotate`: prints the next value of TRACKING_KEYS, with a new key in
 * front. Nothing changes until the services are started with it. A key is kept for 400 days, as
 * long as messages with its tokens may be opened.
 */
export const trackingRotate = adminCommand({
  name: 'tracking rotate',
  usage: 'tracking rotate',
  options: {},
  needsStack: false,
  run(_line, { env }) {
    parseSettings(trackingSettings, env);
    return Promise.resolve({ tracking_keys: rotatedTrackingKeys(env['TRACKING_KEYS'] ?? '') });
  },
});

/**
 * `./ravand admin tracking try`: the addresses of a message to a user that is never sent, so that
 * an integrator sees the pages and tries the bounce intake. What is done there counts for the user.
 */
export const trackingTry = adminCommand({
  name: 'tracking try',
  usage: 'tracking try --account ID --user-id U [--channel C] [--address A]',
  options: { account: REQUIRED, 'user-id': REQUIRED, channel: OPTIONAL, address: OPTIONAL },
  async run({ values }, { database, env }) {
    const accountId = idOption(values, 'account');
    const { TRACKING_KEYS: tokens } = parseSettings(trackingSettings, env);
    if (!tokens)
      throw new CommandError(
        'TRACKING_KEYS is empty, so that no pages are served: set it as it is set for ingest-gateway (./ravand admin tracking rotate makes a first value)',
      );
    await requireAccount(database, accountId);
    return tryTracking(
      {
        ...{ accountId, userId: textOption(values, 'user-id') },
        ...{ channel: channelOption(values.channel), address: values.address ?? '' },
      },
      { database, tokens },
    );
  },
});

function channelOption(text = 'email'): Channel {
  const channel = CHANNELS.find((one) => one === text);
  if (!channel) throw new CommandError(`--channel ${text}: expected one of ${CHANNELS.join(', ')}`);
  return channel;
}

interface TriedMessage {
  accountId: number;
  userId: string;
  channel: Channel;
  address: string;
}

/** Stores the recipient, and returns the paths of its pages and its bounce local part. */
export async function tryTracking(
  { accountId, userId, channel, address }: TriedMessage,
  { database, tokens }: { database: Pick<Database, 'query'>; tokens: TrackingTokens },
): Promise<Record<'message_id' | 'open' | 'unsubscribe' | 'preferences' | 'bounce', string>> {
  const ref = randomBytes(REF_BYTES);
  const messageId = `try.${ref.toString('hex')}`;
  await addMessageRecipients(database, [
    {
      ...{ accountId, ref, userId, channel, campaignId: 0, messageId },
      ...{ address: address.toLowerCase(), category: '', templateId: 0, variantId: '' },
    },
  ]);
  await recordAudit(database, {
    ...{ accountId, actor: 'operator', action: 'tracking.tried' },
    details: { message_id: messageId, channel },
  });
  const message = { accountId, ref };
  return {
    message_id: messageId,
    open: `/e/o/${tokens.write('open', message)}`,
    unsubscribe: `/e/u/${tokens.write('unsubscribe', message)}`,
    preferences: `/e/p/${tokens.write('preferences', message)}`,
    bounce: `/v1/bounce/${tokens.write('bounce', message)}`,
  };
}
