import type { Channel } from '../../events/channels/channel-change.ts';
import { parseIranianMobile } from '../../events/iran-phone.ts';
import type { Target } from '../providers/provider.ts';
import type { KnownAddress } from './read-facts.ts';
import { MAX_TARGETS } from './resolved.ts';

interface Known {
  accountId: number;
  channel: Channel;
  userId: string;
  /** The columns of the profile; empty when nothing is set. */
  email: string;
  phone: string;
  addresses: readonly KnownAddress[];
}

/** Bytes of an id that an address or inbox may have (ingest 2.1). */
const MAX_ID_BYTES = 256;
/** RFC 5321, 4.5.3.1.3: a path has 256 bytes, with its brackets. */
const MAX_EMAIL_BYTES = 254;
/** No control character, space or separator of header fields can stand in it. */
const EMAIL = /^[^\s@<>()[\]\\,;:"\p{Cc}]+@[^\s@<>()[\]\\,;:"\p{Cc}]+$/u;

/** Where the channel reaches a person; the last registered first, and at most MAX_TARGETS. */
export function targetsOf(known: Known): Target[] {
  switch (known.channel) {
    case 'email': {
      const address = emailAddress(known.email);
      return address === undefined ? [] : [{ kind: 'email', address }];
    }
    case 'sms': {
      const number = parseIranianMobile(known.phone)?.e164;
      return number === undefined ? [] : [{ kind: 'phone', number }];
    }
    case 'inapp': {
      const { accountId, userId } = known;
      const hasInbox = userId !== '' && Buffer.byteLength(userId) <= MAX_ID_BYTES;
      return hasInbox ? [{ kind: 'inbox', accountId, userId }] : [];
    }
    case 'push':
      return newest(known.addresses).flatMap(deviceTarget);
    case 'web':
      return newest(known.addresses).flatMap(browserTarget);
    case 'bale':
    case 'eitaa':
    case 'rubika':
      return newest(known.addresses).map(({ id }) => ({ kind: 'chat', chatId: id }));
  }
}

/** The address of a target as message_recipients and commands of channels name it. */
export function addressText(target: Target): string {
  switch (target.kind) {
    case 'email':
      return target.address;
    case 'phone':
      return target.number;
    case 'device':
      return target.deviceId;
    case 'browser':
      return target.endpoint;
    case 'chat':
      return target.chatId;
    case 'inbox':
      return target.userId;
  }
}

/** In lower case, as events store it; undefined for what no mail server accepts. */
function emailAddress(sent: string): string | undefined {
  const address = sent.trim().toLowerCase();
  return EMAIL.test(address) && Buffer.byteLength(address) <= MAX_EMAIL_BYTES ? address : undefined;
}

/** An address that two names have is one. */
function newest(addresses: readonly KnownAddress[]): KnownAddress[] {
  const byId = new Map(addresses.map((address) => [address.id, address]));
  return [...byId.values()]
    .sort((a, b) => b.receivedAt - a.receivedAt || (a.id < b.id ? -1 : 1))
    .slice(0, MAX_TARGETS);
}

const PUSH_PROVIDERS = ['fcm', 'apns', 'hms'] as const;

function deviceTarget({ id, details, receivedAt: registeredAt }: KnownAddress): Target[] {
  const { push_token: token = '', push_provider: named } = details;
  const provider = PUSH_PROVIDERS.find((one) => one === named);
  if (token === '' || !provider) return [];
  return [{ kind: 'device', deviceId: id, provider, token, registeredAt }];
}

function browserTarget({ id, details: { p256dh = '', auth = '' } }: KnownAddress): Target[] {
  return p256dh === '' || auth === '' ? [] : [{ kind: 'browser', endpoint: id, p256dh, auth }];
}
