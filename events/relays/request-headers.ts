import { createHmac } from 'node:crypto';

/** User-Agent of relay requests (ingest 5.2). */
export const RELAY_USER_AGENT = 'Service-Relay/1';

/** Hexadecimal HMAC-SHA256 of the timestamp (Unix seconds), a full stop and the payload. */
export function relaySignature(signed: {
  secret: string;
  timestamp: number;
  payload: string;
}): string {
  return createHmac('sha256', signed.secret)
    .update(`${signed.timestamp}.${signed.payload}`, 'utf8')
    .digest('hex');
}

/**
 * Headers of one attempt (ingest 5.2); unsigned without a secret. `now` is in ms since the epoch.
 */
export function relayHeaders(request: {
  payload: string;
  secret: string | undefined;
  now: number;
}): Record<string, string> {
  const headers = { 'Content-Type': 'application/json', 'User-Agent': RELAY_USER_AGENT };
  const { secret, payload } = request;
  if (secret === undefined) return headers;
  const timestamp = Math.floor(request.now / 1000);
  return {
    ...headers,
    'X-Service-Timestamp': String(timestamp),
    'X-Service-Signature': relaySignature({ secret, timestamp, payload }),
  };
}
