import { isJsonObject, type JsonObject } from '../../events/json.ts';
import type { ApiClient, ApiResult } from '../../platform/outbound/api-client.ts';
import { detailWithout } from './detail.ts';
import { ForeignAddresses } from './foreign-addresses.ts';
import type { ProviderAnswer } from './provider.ts';
import { retryAfterMs } from './retry-after.ts';

/** A reason of `broken` that the content or the address of one message may cause. */
export const UNCLEAR = 'unclear';
/** In total for one request, ms. */
const REQUEST_MS = 30_000;

interface ApiCall {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal;
  /** Removed from what the provider says, in case it repeats it. */
  secret: string;
  /** Whether the provider recognises a message that it gets again. */
  isIdempotent: boolean;
  /** The recipient. */
  address: string;
  /** Of the sender: what may be the fault of the message alone does not stop it at once. */
  faults: ForeignAddresses;
  /** ms since the epoch */
  now: () => number;
  /** What an answer in JSON means; undefined: what its status means. */
  read: (json: JsonObject, status: number) => ProviderAnswer | undefined;
}

/** Of one sender. */
export function messageFaults(): ForeignAddresses {
  return new ForeignAddresses({ kind: 'rejected', reason: 'rejected_by_provider' });
}

/** One request to a provider with a JSON API, and what it came to. Never rejects. */
export async function callApi(client: ApiClient, call: ApiCall): Promise<ProviderAnswer> {
  const { url, headers, body, signal } = call;
  const result = await client.post({ url, headers, body, signal, timeout: REQUEST_MS });
  const answer = decided(answerOf(result, call), call);
  return answer.kind === 'accepted'
    ? answer
    : { ...answer, detail: detailWithout(call.secret, answer.detail) };
}

function decided(answer: ProviderAnswer, { address, faults }: ApiCall): ProviderAnswer {
  if (answer.kind === 'accepted') faults.accepted();
  const isUnclear = answer.kind === 'broken' && answer.reason === UNCLEAR;
  return isUnclear ? faults.refused(address, answer.detail) : answer;
}

function answerOf(result: ApiResult, call: ApiCall): ProviderAnswer {
  if (result.kind !== 'answered') return withoutAnswer(result);
  const json = jsonOf(result.body);
  const afterMs = retryAfterMs(result.headers['retry-after'], call.now());
  const { status, body } = result;
  const answered = { status, detail: `HTTP ${status} ${body}`, afterMs };
  if (json) return call.read(json, status) ?? answerOfStatus(answered, call);
  // A firewall before an API answers so to texts that it does not like.
  return status === 403
    ? { kind: 'broken', reason: UNCLEAR, detail: answered.detail }
    : answerOfStatus(answered, call);
}

/** What it means that a request to the provider's own URL has no answer. */
export function withoutAnswer(
  result: Exclude<ApiResult, { kind: 'answered' }>,
): Exclude<ProviderAnswer, { kind: 'accepted' }> {
  if (result.kind === 'lost')
    return { kind: 'unknown', reason: 'no_answer', detail: result.message };
  return result.isRefused
    ? { kind: 'broken', reason: 'address_refused', detail: result.message }
    : { kind: 'retry', reason: 'unreachable', detail: result.message };
}

/** What an HTTP status, or a code that is used like one, means. */
export function answerOfStatus(
  answered: { status: number; detail: string; afterMs?: number | undefined },
  { isIdempotent }: { isIdempotent: boolean },
): Exclude<ProviderAnswer, { kind: 'accepted' }> {
  const { status, detail, afterMs } = answered;
  const retry = (reason: string) => {
    const answer = { kind: 'retry' as const, reason, detail };
    return afterMs === undefined ? answer : { ...answer, afterMs };
  };
  if (status >= 200 && status < 300)
    return { kind: 'unknown', reason: 'unreadable_answer', detail };
  if (status === 429) return retry('rate_limited');
  // A gateway lost the answer of the server behind it, which may have sent the message.
  if ((status === 502 || status === 504) && !isIdempotent)
    return { kind: 'unknown', reason: 'no_answer', detail };
  if (status >= 500 || status === 408) return retry('unavailable');
  if (status === 401 || status === 403) return { kind: 'broken', reason: 'credentials', detail };
  // Redirects, and paths that do not exist: the URL is not that of the API.
  if (status < 400 || status === 404 || status === 405)
    return { kind: 'broken', reason: 'wrong_url', detail };
  return { kind: 'rejected', reason: 'rejected_by_provider', detail };
}

/** A JSON object; undefined for anything else. */
export function jsonOf(body: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(body);
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
