import type { Channel } from '../../events/channels/channel-change.ts';
import type { JsonObject } from '../../events/json.ts';

/** By what an account sends on a channel, as it is stored. */
export interface StoredSender {
  accountId: number;
  channel: Channel;
  /** For example `fcm`. */
  provider: string;
  /** As it was given, without secrets. */
  config: JsonObject;
  /** Sealed for senderPurpose; undefined: the provider needs none. */
  secret: Buffer | undefined;
  enabled: boolean;
  /** Rises with each change: that of a sender is higher than those of all before it. */
  revision: number;
  /** Nothing can be sent until somebody acts; undefined: it works. */
  broken: { reason: string; at: number } | undefined;
}

/**
 * Providers of a channel that an account may have at the same time: each message goes to that of
 * its device. On other channels a new provider replaces the former one.
 */
const SIDE_BY_SIDE: Readonly<Partial<Record<Channel, readonly string[]>>> = {
  push: ['fcm', 'apns'],
};

export function isSideBySide({ channel, provider }: { channel: Channel; provider: string }) {
  return SIDE_BY_SIDE[channel]?.includes(provider) ?? false;
}

/** The name of providers side by side as one. */
export function joinedName(providers: readonly string[]): string {
  return providers.join('+');
}

/** Whether a provider is this one, or one of those that a joined name names. */
export function isPartOf(name: string, provider: string): boolean {
  return name.split('+').includes(provider);
}

/** Needs no configuration: a channel that has none is sent by it. */
const BUILT_IN: Readonly<Partial<Record<Channel, string>>> = { inapp: 'inapp' };

/** The sender of a channel that an account never set up; undefined: there is none. */
export function builtInSender(accountId: number, channel: Channel): StoredSender | undefined {
  const provider = BUILT_IN[channel];
  if (provider === undefined) return undefined;
  const facts = { accountId, channel, provider, config: {}, secret: undefined };
  return { ...facts, enabled: true, revision: 0, broken: undefined };
}

/** The purpose under which the secret of a sender is sealed (platform/sealing.ts). */
export function senderPurpose(sender: { accountId: number; channel: string }): string {
  return `message_sender:${sender.accountId}:${sender.channel}`;
}
