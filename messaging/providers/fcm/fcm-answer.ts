import { isJsonObject, jsonObject, type JsonObject } from '../../../events/json.ts';
import type { ApiResult } from '../../../platform/outbound/api-client.ts';
import { answerOfStatus, jsonOf } from '../api-answer.ts';
import { shortDetail } from '../detail.ts';
import type { ProviderAnswer } from '../provider.ts';
import { retryAfterMs } from '../retry-after.ts';

/** What FCM answered: an answer to the message, or something that the sender has to decide. */
export type FcmAnswer =
  | ProviderAnswer
  /** 401: the token is not valid any more, or the key never was. */
  | { kind: 'refused_token'; detail: string }
  /** The device is of another Firebase project. */
  | { kind: 'foreign_address'; detail: string };

/** Quota without Retry-After, ms (firebase.google.com/docs/cloud-messaging/scale-fcm). */
const QUOTA_MS = 60_000;
/** First retry after a fault of FCM, ms. */
const FAULT_MS = 10_000;

/** docs/providers.md has the table. `now`: ms since the epoch. */
export function fcmAnswer(result: ApiResult & { kind: 'answered' }, now: number): FcmAnswer {
  const { status, body } = result;
  const json = jsonOf(body);
  if (status === 200) {
    const name = json?.['name'];
    return { kind: 'accepted', providerMessageId: typeof name === 'string' ? name : '' };
  }
  const error = jsonObject(json?.['error']) ?? {};
  const details = arrayOf(error['details']);
  const message = typeof error['message'] === 'string' ? error['message'] : '';
  const code = errorCodeOf(details);
  const detail = shortDetail(`HTTP ${status} ${code} ${message}`);
  const afterMs = retryAfterMs(result.headers['retry-after'], now);
  switch (code === '' ? status : code) {
    case 'UNREGISTERED':
      return { kind: 'dead_address', reason: 'unregistered', detail };
    case 'SENDER_ID_MISMATCH':
      return { kind: 'foreign_address', detail };
    case 'INVALID_ARGUMENT':
    case 400:
      return invalidArgument({ details, message, detail });
    case 'QUOTA_EXCEEDED':
    case 429:
      return { kind: 'retry', reason: 'quota', detail, afterMs: afterMs ?? QUOTA_MS };
    case 'UNAVAILABLE':
    case 'INTERNAL':
    case 503:
    case 500:
      return { kind: 'retry', reason: 'unavailable', detail, afterMs: afterMs ?? FAULT_MS };
    case 'THIRD_PARTY_AUTH_ERROR':
      return { kind: 'broken', reason: 'credentials', detail };
    case 401:
      return { kind: 'refused_token', detail };
    case 413:
      return { kind: 'rejected', reason: 'too_large', detail };
    default:
      return answerOfStatus({ status, detail, afterMs }, { isIdempotent: false });
  }
}

/** It names the field: the device's token, or something in the message. */
function invalidArgument(refusal: {
  details: readonly JsonObject[];
  message: string;
  detail: string;
}): ProviderAnswer {
  const { details, message, detail } = refusal;
  const fields = details.flatMap((one) =>
    arrayOf(one['fieldViolations']).map(({ field }) => field),
  );
  if (fields.includes('message.token') || /registration token is not a valid/i.test(message))
    return { kind: 'dead_address', reason: 'invalid_token', detail };
  const reason = /message is too big/i.test(message) ? 'too_large' : 'rejected_by_provider';
  return { kind: 'rejected', reason, detail };
}

/** Of the detail of type google.firebase.fcm.v1.FcmError; empty: there is none. */
function errorCodeOf(details: readonly JsonObject[]): string {
  const code = details.map((one) => one['errorCode']).find((one) => typeof one === 'string');
  return typeof code === 'string' ? code : '';
}

function arrayOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
