import { hash } from 'node:crypto';
import type { Header } from '../../../platform/http2/header-decoder.ts';
import { collapseId } from '../collapse-id.ts';
import type { ProviderMessage } from '../provider.ts';

/** Of the payload (developer.apple.com: generating a remote notification). */
export const MAX_BYTES = 4096;

export interface ApnsMessage {
  /** Of this message and device: expiry, collapse id, apns-id. */
  headers: Header[];
  payload: Buffer;
  /** It shows something; otherwise it only wakes the app up. */
  isAlert: boolean;
}

/**
 * The app gets the fields of `data` beside `aps`, with `sg_mid`, the message id for its clicks, and
 * `url` where there is one.
 */
export function apnsMessage(message: ProviderMessage, token: string): ApnsMessage {
  const { title, text, url, data } = message.content;
  const isAlert = title !== '' || text !== '';
  const payload = Buffer.from(
    JSON.stringify({
      ...data,
      ...(url === '' ? {} : { url }),
      sg_mid: message.messageId,
      aps: isAlert
        ? { alert: { title, body: text }, sound: 'default' }
        : { 'content-available': 1 },
    }),
  );
  const headers: Header[] = [
    ['apns-expiration', String(Math.max(0, Math.floor(message.expiresAt / 1000)))],
    ['apns-collapse-id', collapseId(message.messageId)],
    ['apns-id', apnsId(message.messageId, token)],
  ];
  return { headers, payload, isAlert };
}

/** A UUID of the message to the device, the same in each attempt. */
function apnsId(messageId: string, token: string): string {
  const hex = hash('sha256', `${messageId}\n${token}`);
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`]
    .concat(hex.slice(20, 32))
    .join('-');
}
