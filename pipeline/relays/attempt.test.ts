import { describe, expect, test } from 'vitest';
import { relaySignature } from '../../events/relays/request-headers.ts';
import type { OutboundRequest, OutboundResult } from '../../platform/outbound/client.ts';
import { attemptWith } from './attempt.ts';
import type { Delivery } from './delivery.ts';
import type { Relay } from './relay.ts';

const NOW = 1_795_255_200_500;
const RELAY: Relay = {
  id: 1,
  accountId: 1,
  url: 'https://a.example/in',
  secret: { kind: 'opened', secret: 's' },
  matches: () => true,
};
const DELIVERY: Delivery = {
  ...{
    relayId: 1,
    accountId: 1,
    position: { epoch: 0, partition: 0, offset: 1, index: 0 },
    messageId: 'm',
    event: 'e',
  },
  ...{ payload: '{"event":"e"}', attempts: 3 },
};

/** One attempt at an endpoint with this result; answers outcome, requests and counted results. */
async function attempt(result: OutboundResult | Error, relay = RELAY, delivery = DELIVERY) {
  const posted: OutboundRequest[] = [];
  const counted: string[] = [];
  const client = {
    post: (request: OutboundRequest) => {
      posted.push(request);
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    },
  };
  const metrics = { attempted: (kind: string) => counted.push(kind) };
  return {
    outcome: await attemptWith({ client, metrics, now: () => NOW, random: () => 0 })(
      relay,
      delivery,
    ),
    posted,
    counted,
  };
}

describe('an attempt', () => {
  test('posts the payload, signed with the current time', async () => {
    const { outcome, posted, counted } = await attempt({
      kind: 'answered',
      status: 201,
      excerpt: '',
    });
    expect(outcome).toEqual({ kind: 'succeeded', status: 201 });
    expect(posted).toEqual([
      {
        url: 'https://a.example/in',
        headers: {
          'Content-Type': 'application/json',
          'User-Agent': 'Service-Relay/1',
          'X-Service-Timestamp': '1795255200',
          'X-Service-Signature': relaySignature({
            secret: 's',
            timestamp: 1795255200,
            payload: DELIVERY.payload,
          }),
        },
        body: DELIVERY.payload,
      },
    ]);
    expect(counted).toEqual(['succeeded']);
  });

  test('is dead when the tenth attempt fails', async () => {
    const failure: OutboundResult = { kind: 'answered', status: 503, excerpt: 'busy' };
    expect((await attempt(failure)).outcome).toMatchObject({ kind: 'retry', error: 'busy' });
    expect((await attempt(failure, RELAY, { ...DELIVERY, attempts: 9 })).outcome).toEqual({
      kind: 'dead',
      status: 503,
      error: 'busy',
      isExhausted: true,
    });
  });

  test('sends no signature without a secret', async () => {
    const { posted } = await attempt(
      { kind: 'answered', status: 200, excerpt: '' },
      { ...RELAY, secret: { kind: 'none' } },
    );
    expect(Object.keys(posted[0]?.headers ?? {})).toEqual(['Content-Type', 'User-Agent']);
  });

  test('sends nothing while the secret is sealed', async () => {
    const { outcome, posted, counted } = await attempt(
      { kind: 'answered', status: 200, excerpt: '' },
      { ...RELAY, secret: { kind: 'sealed', problem: 'waits: no key' } },
    );
    expect([outcome, posted, counted]).toEqual([
      { kind: 'waiting', delay: 0, error: 'waits: no key' },
      [],
      [],
    ]);
  });

  test('truncates an error to 500 bytes that PostgreSQL can store', async () => {
    const { outcome } = await attempt({ kind: 'failed', message: `\u0000${'خطا'.repeat(200)}` });
    const { error = '' } = outcome as { error?: string };
    expect(Buffer.byteLength(error)).toBeLessThanOrEqual(500);
    expect(Buffer.byteLength(error)).toBeGreaterThan(490);
    expect(error.startsWith('\ufffdخطا')).toBe(true);
  });

  test('answers a retry when the client rejects', async () => {
    expect((await attempt(new Error('a defect'))).outcome).toMatchObject({
      kind: 'retry',
      status: null,
      error: 'a defect',
    });
  });
});
