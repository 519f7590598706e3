import type { ApiResult } from '../../../platform/outbound/api-client.ts';
import { answerOfStatus } from '../api-answer.ts';
import { shortDetail } from '../detail.ts';
import type { ProviderAnswer } from '../provider.ts';
import { retryAfterMs } from '../retry-after.ts';

/** What a push service answered: an answer, or something that the sender has to decide. */
export type WebPushAnswer =
  | ProviderAnswer
  /** The subscription was made with another key, or the key is not taken at all. */
  | { kind: 'foreign_address'; detail: string };

const QUOTA_MS = 60_000;
const FAULT_MS = 10_000;
const MAX_ID_CHARACTERS = 200;

/**
 * docs/providers.md has the table. A push service is named by a visitor: nothing that one of them
 * answers says anything about the sender. `now`: ms since the epoch.
 */
export function webPushAnswer(
  result: ApiResult & { kind: 'answered' },
  now: number,
): WebPushAnswer {
  const { status, headers, body } = result;
  if (status >= 200 && status < 300) {
    const location = headers.location ?? '';
    return { kind: 'accepted', providerMessageId: location.slice(0, MAX_ID_CHARACTERS) };
  }
  const detail = shortDetail(`HTTP ${status} ${body}`);
  const afterMs = retryAfterMs(headers['retry-after'], now);
  if (status >= 500)
    return { kind: 'retry', reason: 'unavailable', detail, afterMs: afterMs ?? FAULT_MS };
  switch (status) {
    case 404:
    case 410:
      return { kind: 'dead_address', reason: 'gone', detail };
    case 413:
      return { kind: 'rejected', reason: 'too_large', detail };
    case 429:
      return { kind: 'retry', reason: 'quota', detail, afterMs: afterMs ?? QUOTA_MS };
    case 401:
    case 403:
      return { kind: 'foreign_address', detail };
    case 408:
      return answerOfStatus({ status, detail, afterMs }, { isIdempotent: true });
    default:
      return { kind: 'rejected', reason: 'rejected_by_provider', detail };
  }
}
