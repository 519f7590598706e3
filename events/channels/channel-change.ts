import type { ChannelCommand, ChannelCommandKind } from '../../schemas/records.ts';

/** Channels by which people are reached (docs/messages.md, What there is). */
export const CHANNELS = [
  'email',
  'sms',
  'push',
  'web',
  'inapp',
  'bale',
  'eitaa',
  'rubika',
] as const;

export type Channel = (typeof CHANNELS)[number];

/** Messengers whose chats are linked to users (ingest 4.2). */
export const MESSENGERS = ['bale', 'eitaa', 'rubika'] as const;

export type Messenger = (typeof MESSENGERS)[number];

/** What a command changes, without who accepted it and when. */
export type ChannelChange = Pick<
  ChannelCommand,
  'user_id' | 'anonymous_id' | 'address_id' | 'device' | 'web_push' | 'consent' | 'reason'
> &
  Pick<ChannelCommand, 'message_ref' | 'inbox'> & { kind: ChannelCommandKind; channel: Channel };

const EMPTY: Omit<ChannelChange, 'kind' | 'channel'> = {
  user_id: '',
  anonymous_id: '',
  address_id: '',
  device: null,
  web_push: null,
  consent: null,
  reason: '',
  message_ref: Buffer.alloc(0),
  inbox: null,
};

/** A change with the fields that it has no use for. */
export function channelChange(
  change: Partial<ChannelChange> & Pick<ChannelChange, 'kind' | 'channel'>,
): ChannelChange {
  return { ...EMPTY, ...change };
}
