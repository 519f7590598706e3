import { renderFailure, type Answer } from '../http/render.ts';

/** A refusal with a sentence of this route (ingest 4.6). */
function refusal(status: number, message: string, headers?: readonly string[]): Answer {
  return {
    status,
    body: JSON.stringify({ status: 'error', message }),
    ...(headers ? { headers } : {}),
  };
}

export const UNKNOWN_WEBHOOK = refusal(404, 'unknown webhook');
export const UNREADABLE_BODY = refusal(400, 'unreadable body');
export const SIGNATURE_MISMATCH = refusal(401, 'signature mismatch');
export const UNAUTHORIZED = refusal(401, 'unauthorized');
export const UNVERIFIED = refusal(503, 'cannot verify the webhook right now; retry', [
  'Retry-After',
  '5',
]);
export const UNAVAILABLE = renderFailure({ code: 'unavailable' });

/** The answer to a genuine delivery; `accepted` is absent when it added no event. */
export function acceptedAnswer(published: number): Answer {
  return {
    status: 200,
    body: published > 0 ? `{"status":"ok","accepted":${published}}` : '{"status":"ok"}',
  };
}
