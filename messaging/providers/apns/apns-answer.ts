import type { ApiResult } from '../../../platform/outbound/api-client.ts';
import { answerOfStatus, jsonOf } from '../api-answer.ts';
import { shortDetail } from '../detail.ts';
import type { ProviderAnswer } from '../provider.ts';
import { retryAfterMs } from '../retry-after.ts';

/** What APNs answered: an answer to the message, or something that the sender has to decide. */
export type ApnsAnswer =
  | ProviderAnswer
  /** Malformed, or a token of the other environment. */
  | { kind: 'bad_token'; detail: string }
  /** The device is of another app. */
  | { kind: 'foreign_address'; detail: string }
  /** The token has not been valid since then, ms since the epoch. */
  | { kind: 'unregistered'; reason: string; detail: string; since: number };

/** For refusals without Retry-After, ms. */
const RETRY_MS: Readonly<Record<string, number>> = {
  TooManyRequests: 60_000,
  TooManyProviderTokenUpdates: 1_200_000,
};
const FAULT_MS = 10_000;

/** docs/providers.md has the table. `now`: ms since the epoch. */
export function apnsAnswer(result: ApiResult & { kind: 'answered' }, now: number): ApnsAnswer {
  const { status, headers, body } = result;
  if (status === 200)
    return { kind: 'accepted', providerMessageId: shortDetail(String(headers['apns-id'] ?? '')) };
  const json = jsonOf(body);
  const code = typeof json?.['reason'] === 'string' ? json['reason'] : '';
  const detail = shortDetail(`HTTP ${status} ${code}`);
  const afterMs = retryAfterMs(headers['retry-after'], now);
  switch (code) {
    case 'BadDeviceToken':
      return { kind: 'bad_token', detail };
    case 'DeviceTokenNotForTopic':
      return { kind: 'foreign_address', detail };
    case 'BadTopic':
    case 'MissingTopic':
    case 'TopicDisallowed':
      return { kind: 'broken', reason: 'topic', detail };
    case 'IdleTimeout':
      return { kind: 'retry', reason: 'unavailable', detail };
  }
  switch (status) {
    case 410: {
      const since = typeof json?.['timestamp'] === 'number' ? json['timestamp'] : now;
      const reason = code === 'ExpiredToken' ? 'expired_token' : 'unregistered';
      return { kind: 'unregistered', reason, detail, since };
    }
    case 413:
      return { kind: 'rejected', reason: 'too_large', detail };
    case 429:
      return {
        kind: 'retry',
        reason: 'quota',
        detail,
        afterMs: afterMs ?? RETRY_MS[code] ?? 60_000,
      };
    case 500:
    case 503:
      return { kind: 'retry', reason: 'unavailable', detail, afterMs: afterMs ?? FAULT_MS };
    default:
      return answerOfStatus({ status, detail, afterMs }, { isIdempotent: false });
  }
}
