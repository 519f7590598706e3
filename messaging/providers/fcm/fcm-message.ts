import { collapseId } from '../collapse-id.ts';
import type { ProviderMessage } from '../provider.ts';

/** What FCM keeps a message for at most, s. */
const MAX_TTL_S = 2_419_200;
/** Of the notification and of data, keys and values (FCM: 4096 bytes). */
export const MAX_BYTES = 4096;

export interface FcmMessage {
  json: string;
  isTooLarge: boolean;
}

/**
 * The body of messages:send. The app gets `data` with `sg_mid`, the message id for its clicks, and
 * `url` where there is one. A message without title and text is only data. Android shows messages
 * with the same tag once.
 */
export function fcmMessage(
  message: ProviderMessage,
  { token, now }: { token: string; now: number },
): FcmMessage {
  const { title, text, url } = message.content;
  const data: Record<string, string> = {
    ...message.content.data,
    ...(url === '' ? {} : { url }),
    sg_mid: message.messageId,
  };
  const ttl = Math.min(Math.max(0, Math.floor((message.expiresAt - now) / 1000)), MAX_TTL_S);
  const id = collapseId(message.messageId);
  const isShown = title !== '' || text !== '';
  const json = JSON.stringify({
    message: {
      token,
      ...(isShown ? { notification: { title, body: text } } : {}),
      data,
      android: {
        priority: 'high',
        ttl: `${ttl}s`,
        ...(isShown ? { notification: { tag: id } } : {}),
      },
      apns: {
        headers: {
          'apns-collapse-id': id,
          'apns-expiration': String(Math.floor(now / 1000) + ttl),
        },
      },
      webpush: {
        headers: { TTL: String(ttl), Topic: id },
        ...(url.startsWith('https://') ? { fcm_options: { link: url } } : {}),
      },
    },
  });
  return { json, isTooLarge: bytesOf([title, text, ...Object.entries(data).flat()]) > MAX_BYTES };
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}
