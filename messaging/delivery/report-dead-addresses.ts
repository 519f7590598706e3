import {
  channelChange,
  type Channel,
  type ChannelChange,
} from '../../events/channels/channel-change.ts';
import type { CommandWriter } from '../../ingest/command-writer.ts';
import { addressText } from '../recipients/targets.ts';
import type { DeadTarget } from './deliver.ts';

export interface DeadAddresses {
  accountId: number;
  channel: Channel;
  /** Under which the registration, or the message, was. */
  userId: string;
  dead: readonly DeadTarget[];
  /** When the provider was called, ms since the epoch: a later registration counts more. */
  calledAt: number;
}

/**
 * Writes a command of channels for each address that a provider calls dead: devices, browsers and
 * chats are deactivated, e-mail addresses and numbers suppressed. Resolves with the number that is
 * not durable: the provider says it again with the next message.
 */
export async function reportDeadAddresses(
  writer: Pick<CommandWriter, 'write'>,
  { accountId, channel, userId, dead, calledAt }: DeadAddresses,
): Promise<number> {
  const principal = { accountId, appId: 0, writeKeyId: 0 };
  const facts = { principal, source: 'provider', receivedAt: calledAt, trace: '' };
  const durable = await Promise.all(
    dead.map((one) => writer.write(changeOf(one, { channel, userId }), facts)),
  );
  return durable.filter((isDurable) => !isDurable).length;
}

function changeOf(
  { target, reason }: DeadTarget,
  { channel, userId }: Pick<DeadAddresses, 'channel' | 'userId'>,
): ChannelChange {
  const isSuppressed = target.kind === 'email' || target.kind === 'phone';
  return channelChange({
    kind: isSuppressed ? 'address_suppressed' : 'address_deactivated',
    ...{ channel, user_id: userId, address_id: addressText(target), reason },
  });
}
