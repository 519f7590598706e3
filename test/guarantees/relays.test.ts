import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attemptWith } from '../../pipeline/relays/attempt.ts';
import type { Relay } from '../../pipeline/relays/relay.ts';
import { AddressRules } from '../../platform/outbound/address-rules.ts';
import { AllowedHosts } from '../../platform/outbound/allowed-hosts.ts';
import { OutboundClient } from '../../platform/outbound/client.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import { makeSealingKey, parseSealingKeys, type Sealer } from '../../platform/sealing.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { RelayAccount } from '../support/relay-account.ts';
import { RelayProcess } from '../support/relay-process.ts';
import { RELAY_SECRET, startRelayReceiver, type RelayReceiver } from '../support/relay-receiver.ts';
import { createAccount, eventually, FULL, readyStack, sleep } from '../support/stack.ts';

const DELIVERIES = FULL ? 10_000 : 1500;
const KILLS = FULL ? 10 : 3;

describe('relays', () => {
  let database: Database;
  let account: RelayAccount;
  let relays: RelayProcess;
  let sealer: Sealer;
  const receivers: RelayReceiver[] = [];

  beforeAll(async () => {
    database = connectPostgres({
      url: readyStack().database_url,
      log: pino({ level: 'silent' }),
      name: 'relays-test',
      max: 2,
    });
    for (let n = 0; n < 7; n++) receivers.push(await startRelayReceiver());
    const key = makeSealingKey('test');
    sealer = parseSealingKeys(key) ?? expect.fail('no key');
    account = new RelayAccount({
      database,
      account: await createAccount('relays'),
      sealer,
      ingestUrl: readyStack().ingest_url,
    });
    const allowed = receivers.slice(0, 6).map(({ port }) => `127.0.0.1:${port}`);
    relays = await RelayProcess.create({
      RELAY_ALLOW_HOSTS: [...allowed, '127.0.0.1:1'].join(','),
      SEALING_KEY: key,
    });
  });
  afterAll(async () => {
    try {
      await account.remove();
    } finally {
      await relays.close();
      await Promise.all(receivers.map((receiver) => receiver.close()));
      await database.end();
    }
  });

  function receiver(at: number): RelayReceiver {
    return receivers[at] ?? expect.fail('no such receiver');
  }

  it(
    `deliver ${DELIVERIES} signed events at least once, with an accurate log, despite ${KILLS} kills and a flapping endpoint`,
    async () => {
      const [healthy, flapping] = [receiver(0), receiver(1)];
      // Two seconds down, two seconds up; after a while it stays up, so that the schedule of the
      // unluckiest delivery ends.
      const flapsUntil = Date.now() + (FULL ? 60_000 : 20_000);
      flapping.behave(() =>
        Date.now() < flapsUntil && Math.floor(Date.now() / 2000) % 2 === 0
          ? { status: 503, body: 'down' }
          : { status: 204 },
      );
      const flaps = Math.floor(DELIVERIES / 10);
      const event = `killed-${randomUUID().slice(0, 8)}`;
      const healthyId = await account.save({ event, url: healthy.url });
      const flappingId = await account.save({
        event,
        url: flapping.url,
        filters: [{ prop: 'seq', op: 'lt', value: flaps }],
      });

      const sending = account.send(event, DELIVERIES);
      const left: number[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        // Kills at even shares of the requests, so that work is in flight.
        const share = (DELIVERIES * (kill + 1)) / (KILLS + 1);
        await eventually(
          { ms: 120_000, every: 5, waitingFor: `${Math.floor(share)} requests` },
          () => Promise.resolve(healthy.requests.length >= share ? true : undefined),
        );
        left.push(DELIVERIES - healthy.accepted().size);
        await relays.killAndStart();
      }
      const sent = await sending;
      await account.untilFinished(healthyId, DELIVERIES, FULL ? 400_000 : 120_000);
      await account.untilFinished(flappingId, flaps, FULL ? 600_000 : 240_000);

      const [delivered, flapped] = [healthy.accepted(), flapping.accepted()];
      const repeats = [...delivered.values()].reduce((sum, times) => sum + times - 1, 0);
      console.log(
        JSON.stringify({
          deliveries: DELIVERIES,
          kills: KILLS,
          left,
          repeats,
          flapping: { ...(await account.counts(flappingId)), requests: flapping.requests.length },
        }),
      );
      expect(sent.filter((id) => !delivered.has(id))).toEqual([]);
      expect(delivered.size).toBe(DELIVERIES);
      // The kills happened while work was in flight.
      expect(left.filter((count) => count > 0).length).toBeGreaterThan(KILLS / 2);
      expect(sent.slice(0, flaps).filter((id) => !flapped.has(id))).toEqual([]);
      expect(flapped.size).toBe(flaps);
      expect(
        [...healthy.requests, ...flapping.requests].filter(({ isSigned }) => !isSigned),
      ).toEqual([]);
      expect(await account.counts(healthyId)).toEqual({
        succeeded: DELIVERIES,
        dead: 0,
        failed: 0,
        pending: 0,
      });
      expect(await account.counts(flappingId)).toMatchObject({
        succeeded: flaps,
        dead: 0,
        pending: 0,
      });
      expect(await account.falseSuccesses(healthyId, delivered)).toEqual([]);
      expect(await account.falseSuccesses(flappingId, flapped)).toEqual([]);
    },
    testTimeout(FULL ? 1_500_000 : 480_000),
  );

  it(
    'deliver to healthy endpoints without delay while another one times out',
    async () => {
      const [healthy, silent, redirecting, secret] = [
        receiver(2),
        receiver(3),
        receiver(4),
        receiver(6),
      ];
      const event = `failing-${randomUUID().slice(0, 8)}`;
      const healthyId = await account.save({ event, url: healthy.url });

      const undisturbed = await latencies(event, healthy, 'before');

      silent.behave(() => 'silent');
      redirecting.behave(() => ({ status: 307, location: secret.url }));
      const silentId = await account.save({ event, url: silent.url });
      const deadId = await account.save({ event, url: 'http://127.0.0.1:1/' });
      const redirectingId = await account.save({ event, url: redirecting.url });
      const disturbed = await latencies(event, healthy, 'while');
      const failing = {
        silent: await account.counts(silentId),
        dead: await account.counts(deadId),
        redirecting: await account.counts(redirectingId),
      };
      console.log(
        JSON.stringify({
          medians_ms: { undisturbed: median(undisturbed), disturbed: median(disturbed) },
          p95_ms: { undisturbed: high(undisturbed), disturbed: high(disturbed) },
          failing,
        }),
      );

      // The healthy endpoint has everything while the silent one has nothing.
      expect(silent.accepted().size).toBe(0);
      expect(failing.silent).toMatchObject({ succeeded: 0, dead: 0 });
      expect(await account.counts(healthyId)).toMatchObject({ succeeded: 2 * PROBES, dead: 0 });
      // A redirect into the private network is permanent, and nothing arrived there.
      await account.untilFinished(redirectingId, PROBES, 30_000);
      expect(await account.counts(redirectingId)).toMatchObject({ succeeded: 0, dead: PROBES });
      expect(secret.requests).toEqual([]);
      const [refused] = await account.rows<{
        error: string;
        response_status: number | null;
        attempts: number;
      }>(
        'SELECT error, response_status, attempts FROM relay_deliveries WHERE relay_id = $1 LIMIT 1',
        redirectingId,
      );
      expect(refused).toEqual({
        error: expect.stringContaining('127.0.0.1 is a loopback address') as string,
        response_status: null,
        attempts: 1,
      });
      // A closed port: deliveries are pending with the reason, and the breaker stops further
      // attempts.
      await eventually({ ms: 30_000, waitingFor: 'the breaker of the dead endpoint' }, async () =>
        (await relays.metric('ravand_relay_breakers', 'open"')) > 0 ? true : undefined,
      );
      const failed = await account.rows<{ error: string; attempts: number }>(
        `SELECT error, attempts FROM relay_deliveries WHERE relay_id = $1 AND status = 'pending' AND attempts > 0`,
        deadId,
      );
      expect(failed.length).toBeGreaterThan(0);
      expect(new Set(failed.map(({ error }) => error))).toEqual(
        new Set(['connect ECONNREFUSED 127.0.0.1:1']),
      );

      // The endpoint recovers, and so does a process that was killed with attempts in flight:
      // everything that waited arrives.
      await relays.killAndStart();
      silent.behave(() => ({ status: 200 }));
      await account.untilFinished(silentId, PROBES, 150_000);
      expect(silent.accepted().size).toBe(PROBES);
      expect(await account.falseSuccesses(silentId, silent.accepted())).toEqual([]);

      // Dead deliveries arrive once their URL is corrected and they are retried.
      await database.query('UPDATE relays SET url = $2 WHERE id = $1', [
        redirectingId,
        receiver(5).url,
      ]);
      expect(await account.retry(redirectingId)).toBe(PROBES);
      await eventually({ ms: 60_000, waitingFor: 'retried deliveries to arrive' }, async () =>
        (await account.counts(redirectingId)).succeeded === PROBES ? true : undefined,
      );
      expect(receiver(5).accepted().size).toBe(PROBES);
    },
    testTimeout(300_000),
  );

  const PROBES = FULL ? 300 : 80;

  /**
   * Time from the moment an event is sent until the receiver has it, ms, one event after the other
   * at a steady pace.
   */
  async function latencies(event: string, at: RelayReceiver, name: string): Promise<number[]> {
    const sentAt = new Map<string, number>();
    for (let n = 0; n < PROBES; n++) {
      const message_id = `${event}-${name}-${n}`;
      sentAt.set(message_id, Date.now());
      await account.track(event, message_id);
      await sleep(30);
    }
    return eventually({ ms: 60_000, waitingFor: 'the healthy endpoint to have everything' }, () => {
      const found = at.requests.flatMap(({ messageId, at: time }) => {
        const sent = sentAt.get(messageId);
        return sent === undefined ? [] : [time - sent];
      });
      return Promise.resolve(found.length >= PROBES ? found : undefined);
    });
  }

  function median(values: number[]): number {
    return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  }

  function high(values: number[]): number {
    return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
  }

  it(
    'apply a relay that was saved before an event was accepted, and never a disabled one',
    async () => {
      const at = receiver(5);
      const event = `saved-${randomUUID().slice(0, 8)}`;
      await account.send(event, 5);
      const id = await account.save({ event, url: at.url });
      await account.track(event, `${event}-first`, { paid: true, total: 12.5 });
      await account.untilFinished(id, 1, 30_000);
      await database.query('UPDATE relays SET enabled = false WHERE id = $1', [id]);
      await account.track(event, `${event}-disabled`);
      await database.query(
        'UPDATE relays SET enabled = true, active_since = clock_timestamp() WHERE id = $1',
        [id],
      );
      await account.track(event, `${event}-again`);
      await account.untilFinished(id, 2, 30_000);
      const arrived = [...at.accepted().keys()].filter((messageId) => messageId.startsWith(event));
      expect(arrived.sort()).toEqual([`${event}-again`, `${event}-first`]);
      const request = at.requests.find(({ messageId }) => messageId === `${event}-first`);
      expect(request?.headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': 'Service-Relay/1',
      });
      expect(JSON.parse(request?.body ?? '')).toEqual({
        event,
        user_id: 'u',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        properties: { paid: true, total: 12.5 },
        message_id: `${event}-first`,
      });
    },
    testTimeout(120_000),
  );

  it('refuse a host name permanently whose second lookup answers a private address', async () => {
    const at = receiver(6);
    let lookups = 0;
    const client = new OutboundClient({
      allowed: new AllowedHosts([]),
      rules: new AddressRules({ ports: 'any' }),
      timeout: 2000,
      excerptBytes: 500,
      resolve: () =>
        lookups++ === 0
          ? Promise.reject(new Error('queryA ETIMEOUT'))
          : Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    const attempt = attemptWith({
      client,
      metrics: { attempted: () => undefined },
      now: () => Date.now(),
      random: () => 0,
    });
    const relay: Relay = {
      id: 1,
      accountId: 1,
      url: `http://changes.example:${at.port}/`,
      secret: { kind: 'none' },
      matches: () => true,
    };
    const position = { epoch: 0, partition: 0, offset: 0, index: 0 };
    const delivery = {
      relayId: 1,
      accountId: 1,
      position,
      messageId: 'm',
      event: 'e',
      payload: '{"message_id":"m"}',
      attempts: 0,
    };
    expect(await attempt(relay, delivery)).toMatchObject({
      kind: 'retry',
      error: 'queryA ETIMEOUT',
    });
    expect(await attempt(relay, { ...delivery, attempts: 1 })).toMatchObject({
      kind: 'dead',
      error: expect.stringContaining('changes.example has an address') as string,
    });
    expect([lookups, at.requests]).toEqual([2, []]);
    client.close();
  });

  it(
    'send nothing while the secret cannot be opened, and report the reason in the queue',
    async () => {
      const at = receiver(5);
      const event = `sealed-${randomUUID().slice(0, 8)}`;
      const id = await account.save({ event, url: at.url });
      const other = parseSealingKeys(makeSealingKey('other')) ?? expect.fail('no key');
      await account.seal(id, other, 'x');
      const [messageId = ''] = await account.send(event, 1);
      const row = await eventually(
        { ms: 30_000, waitingFor: 'the delivery in the queue' },
        async () => {
          const [found] = await account.rows<{ status: string; attempts: number; error: string }>(
            'SELECT status, attempts, error FROM relay_deliveries WHERE relay_id = $1',
            id,
          );
          return found;
        },
      );
      expect(row).toEqual({
        status: 'pending',
        attempts: 0,
        error: expect.stringContaining('sealed under the key other') as string,
      });
      expect(at.accepted().has(messageId)).toBe(false);
      // With a readable secret it is sent.
      await account.seal(id, sealer, RELAY_SECRET);
      await account.untilFinished(id, 1, 30_000);
      expect(at.requests.find((request) => request.messageId === messageId)?.isSigned).toBe(true);
    },
    testTimeout(90_000),
  );
});
