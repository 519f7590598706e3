import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { relayHeaders, relaySignature } from './request-headers.ts';

const PAYLOAD =
  '{"event":"order_completed","user_id":"u1","timestamp":"2026-11-21T10:00:00.000Z","properties":{"total":1250000},"message_id":"m1"}';

// The vector of docs/relays.md; computed with: printf '%s' "1795255200.$PAYLOAD" | openssl dgst
// -sha256 -hmac relay-secret
test('the signature is hex(HMAC-SHA256(secret, timestamp + "." + payload)) (ingest 5.2)', () => {
  expect(relaySignature({ secret: 'relay-secret', timestamp: 1795255200, payload: PAYLOAD })).toBe(
    '159f37a454f1617fb1007886ffe4d473d2d3c1c4842c9f816e3b4420547b7026',
  );
});

test('an attempt has four headers, and only two without a secret', () => {
  const now = 1795255200_999;
  expect(relayHeaders({ payload: PAYLOAD, secret: undefined, now })).toEqual({
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Relay/1',
  });
  expect(relayHeaders({ payload: PAYLOAD, secret: 'relay-secret', now })).toEqual({
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Relay/1',
    'X-Service-Timestamp': '1795255200',
    'X-Service-Signature': relaySignature({
      secret: 'relay-secret',
      timestamp: 1795255200,
      payload: PAYLOAD,
    }),
  });
});

test('text beyond ASCII is signed as UTF-8', () => {
  const ascii = relaySignature({ secret: 's', timestamp: 1, payload: 'خرید' });
  expect(ascii).toMatch(/^[0-9a-f]{64}$/);
  expect(ascii).not.toBe(relaySignature({ secret: 's', timestamp: 1, payload: '????' }));
});

test('docs/relays.md shows this test vector', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/relays.md'), 'utf8');
  const signature = relaySignature({
    secret: 'relay-secret',
    timestamp: 1795255200,
    payload: PAYLOAD,
  });
  expect(page).toContain(`X-Service-Signature: ${signature}\n\n${PAYLOAD}\n`);
  expect(page).toContain(
    `printf '%s' '1795255200.${PAYLOAD}' | openssl dgst -sha256 -hmac relay-secret\nSHA2-256(stdin)= ${signature}\n`,
  );
});
