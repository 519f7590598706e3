import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { claimIdsOf, type ClaimWords } from '../../events/claims/claim-words.ts';
import { signatureOf } from '../../events/webhooks/signature.ts';
import { createLog } from '../../platform/log.ts';
import { makeSealingKey, parseSealingKeys, type Sealer } from '../../platform/sealing.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { BodyDecider } from '../../ingest/body-decider.ts';
import { mapDelivery } from '../../events/webhooks/map-delivery.ts';
import { mapLargeDelivery } from '../../ingest/map-body.ts';
import { EventWriter } from '../../ingest/event-writer.ts';
import { BodyBudget } from '../http/body.ts';
import type { LogRecord } from '../../ingest/log-record.ts';
import { acceptDelivery, type DeliveryPorts } from './accept-delivery.ts';
import type { Connection, DeliveryCounts } from './connection-store.ts';
import type { FoundConnection } from './connections.ts';
import { WebhookServer } from './webhook-server.ts';
import { webhookRoutes } from './webhook-routes.ts';

const log = createLog({ part: 'test', level: 'silent' });
const BODY = JSON.stringify({ id: 5, email: 'a@b.c', total_price: '10' });
const HEADERS = {
  'X-Storefront-Topic': 'orders/create',
  'X-Storefront-Hmac-Sha256': signatureOf(Buffer.from(BODY), 's'),
};

let sealer: Sealer;
let connection: FoundConnection;
let budget: BodyBudget;
let counts: DeliveryCounts[];
let published: LogRecord[];
let isDurable: (record: LogRecord) => boolean;
let duplicates: ReadonlySet<number>;
let released: number;
let server: Server;
let port: number;
/** Deliveries that are accepted wait for it. */
let gate: Promise<void>;
/** The look-up of connections waits for it. */
let lookup: Promise<void>;
/** The account of the token, when it was found before. */
let knownAccount: number | undefined;

function sealerOf(): Sealer {
  const made = parseSealingKeys(makeSealingKey('k'));
  if (!made) throw new Error('no key');
  return made;
}

function connected(changes: Partial<Connection> = {}): Connection {
  return {
    id: 1,
    accountId: 3,
    appId: 4,
    source: 'hosted_storefront',
    enabled: true,
    sealed: sealer.seal('s', 'integration:3:hosted_storefront'),
    ...changes,
  };
}

const writer = new EventWriter({
  claims: {
    claim: (ids: ClaimWords, { receivedAt }: { receivedAt: number }) =>
      Promise.resolve({
        ids,
        receivedAt,
        token: Buffer.alloc(1),
        verdicts: claimIdsOf(ids).map((_, position) =>
          duplicates.has(position) ? 'durable' : 'claimed',
        ) as never,
      }),
    confirm: () => undefined,
    release: (claimed, positions) => {
      released += positions?.length ?? claimed.ids.count;
      return Promise.resolve();
    },
  },
  publish: (records) => {
    published.push(...records.filter(isDurable));
    return Promise.resolve(records.filter((record) => !isDurable(record)));
  },
  partitionsOf: () => 4,
  gateway: 'g',
});
const decider = new BodyDecider({ maxBodyBytes: 1024 * 1024, random: Math.random });
const ports: DeliveryPorts = {
  writer,
  decider,
  account: () => ({ retentionDays: 0, quota: 'quota_cancelled' }),
  newDedupeId: () => 'dedupe',
};

beforeEach(async () => {
  sealer = sealerOf();
  connection = connected();
  budget = new BodyBudget(8 * 1024 * 1024);
  counts = [];
  gate = Promise.resolve();
  lookup = Promise.resolve();
  knownAccount = undefined;
  published = [];
  isDurable = () => true;
  duplicates = new Set();
  released = 0;
  const webhooks = new WebhookServer({
    connections: {
      accountOf: () => knownAccount,
      find: () => lookup.then(() => connection),
    },
    sealer,
    decider,
    accept: (delivery) => gate.then(() => acceptDelivery(ports, delivery)),
    counters: { add: (_id, one) => counts.push(one) },
    budget,
    maxRequests: 10,
    trusted: undefined,
    log,
    now: () => 1_790_000_000_000,
    isClosing: () => false,
    onAnswered: () => undefined,
  });
  server = createServer(
    (request, response) =>
      void webhooks.serve({ source: 'hosted_storefront', token: 't' }, { request, response }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(() => decider.close());
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function deliver(
  body: string = BODY,
  headers: Record<string, string> = HEADERS,
): Promise<[number, unknown, string | null]> {
  const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers });
  return [answer.status, await answer.json(), answer.headers.get('retry-after')];
}

const unavailable = { status: 'error', message: 'temporarily unavailable, please retry' };
const unverified = { status: 'error', message: 'cannot verify the webhook right now; retry' };

describe('a fault on our side is answered 503, never 4xx (ARCHITECTURE.md, G4)', () => {
  it('when connections cannot be read', async () => {
    connection = 'unverified';
    expect(await deliver()).toEqual([503, unverified, '5']);
  });

  it('when the secret cannot be opened', async () => {
    connection = connected({ sealed: sealerOf().seal('s', 'integration:3:hosted_storefront') });
    expect(await deliver()).toEqual([503, unverified, '5']);
    expect(counts).toEqual([]);
  });

  it('when Kafka and the spool both fail: the claim is released and nothing is counted', async () => {
    isDurable = () => false;
    expect(await deliver()).toEqual([503, unavailable, null]);
    expect(released).toBe(1);
    expect(counts).toEqual([]);
  });

  it('when the outcome of a duplicate cannot be recorded', async () => {
    duplicates = new Set([0]);
    isDurable = ({ topic }) => topic !== 'ingest.outcomes';
    expect(await deliver()).toEqual([503, unavailable, null]);
  });

  it('when an account has a quarter of all deliveries in progress, and other accounts go on', async () => {
    const held = Promise.withResolvers<undefined>();
    gate = held.promise;
    const answered: number[] = [];
    const own = Array.from({ length: 8 }, () =>
      deliver().then(([status]) => void answered.push(status)),
    );
    await vi.waitFor(() => expect(answered).toEqual([503, 503, 503, 503, 503]), {
      timeout: 20_000,
    });
    connection = connected({ id: 2, accountId: 9, sealed: null, source: 'hosted_storefront' });
    expect((await deliver())[0]).toBe(401);
    held.resolve(undefined);
    await Promise.all(own);
    expect(answered.filter((status) => status === 200)).toHaveLength(3);
    connection = connected();
    expect((await deliver())[0]).toBe(200);
  });

  it.each([
    ['a network has a quarter of all deliveries at the look-up', undefined],
    ['an account has a quarter of all deliveries at the look-up', 3],
  ])('when %s, and other accounts go on', async (_, account) => {
    const held = Promise.withResolvers<undefined>();
    [lookup, knownAccount] = [held.promise, account];
    const answered: number[] = [];
    const flood = Array.from({ length: 8 }, () =>
      deliver().then(([status]) => void answered.push(status)),
    );
    await vi.waitFor(() => expect(answered).toEqual([503, 503, 503, 503, 503]), {
      timeout: 20_000,
    });
    [lookup, knownAccount] = [Promise.resolve(), 9];
    connection = connected({ id: 2, accountId: 9, sealed: null, source: 'hosted_storefront' });
    expect((await deliver())[0]).toBe(401);
    held.resolve(undefined);
    await Promise.all(flood);
    expect(answered.slice(5)).toEqual([401, 401, 401]);
    expect((await deliver())[0]).toBe(401);
  });

  it('when the memory budget for bodies is exhausted', async () => {
    for (let other = 100; budget.acquire(other, 1); other++) while (budget.acquire(other, 1));
    expect(await deliver()).toEqual([503, unavailable, null]);
  });
});

describe('a large delivery', () => {
  const MIB = 1024 * 1024;
  const large = JSON.stringify({ id: 6, email: 'a@b.c', note: 'x'.repeat(MIB - 100) });

  it('is read and hashed in turns of its account, one for each piece', async () => {
    const [signature, forged] = ['s', 'other'].map((secret) =>
      signatureOf(Buffer.from(large), secret),
    );
    const signed = { ...HEADERS, 'X-Storefront-Hmac-Sha256': signature ?? '' };
    expect(await deliver(large, signed)).toMatchObject([200, { accepted: 1 }, null]);
    const { given } = budget.turns;
    // Pieces have 64 KiB or less; the first ones need no turn.
    expect(given).toBeGreaterThanOrEqual(14);
    const refused = { ...HEADERS, 'X-Storefront-Hmac-Sha256': forged ?? '' };
    expect((await deliver(large, refused))[0]).toBe(401);
    expect(budget.turns.given).toBeGreaterThanOrEqual(given + 14);
    expect((await deliver())[0]).toBe(200);
    expect(budget.turns.waiting).toBe(0);
    expect(budget.bytes).toBe(0);
  });

  it.each([
    ['without a signature', {}],
    ['with a text that is no signature', { 'X-Storefront-Hmac-Sha256': 'x' }],
  ])('%s is refused by its head: nothing of it is held or decoded', async (_, headers) => {
    const acquire = vi.spyOn(budget, 'acquire');
    const decode = vi.spyOn(budget.decoders, 'run');
    expect(await deliver(large, headers)).toMatchObject([401, {}, null]);
    expect([acquire.mock.calls, decode.mock.calls]).toEqual([[], []]);
    expect(counts).toMatchObject([{ rejected: 1, lastError: 'bad signature' }]);
    // What is dropped is read in turns, too.
    expect(budget.turns.given).toBeGreaterThan(0);
  });
});

describe('a delivery', () => {
  it('is published with its bytes beside its event and counted, without a quota check', async () => {
    expect(await deliver()).toEqual([200, { status: 'ok', accepted: 1 }, null]);
    expect(counts).toEqual([{ received: 1, accepted: 1, rejected: 0, lastError: '' }]);
    const [record] = published.map(({ value }) => rawRecordCodec.decode(value));
    expect(record).toMatchObject({
      account_id: 3,
      app_id: 4,
      write_key_id: 0,
      source: 'webhook',
      path: '/v1/hooks/hosted_storefront',
      ip: '',
      user_agent: '',
      shape: 'batch',
    });
    expect(record?.items).toMatchObject([
      {
        at: 0,
        type: 'track',
        message_id: 'hosted_storefront:order_completed:5',
        dedupe_id: null,
        generated: false,
      },
    ]);
    expect(record?.delivery?.body.toString()).toBe(BODY);
    expect(budget.bytes).toBe(0);
  });

  it('is recorded as an outcome and adds nothing when it is a duplicate', async () => {
    duplicates = new Set([0]);
    expect(await deliver()).toEqual([200, { status: 'ok' }, null]);
    expect(published.map(({ topic }) => topic)).toEqual(['ingest.outcomes']);
    expect(counts).toEqual([{ received: 1, accepted: 0, rejected: 0, lastError: '' }]);
  });

  it('gets a dedupe id of its own and claims nothing when it has no message id', async () => {
    const body = JSON.stringify({ email: 'a@b.c' });
    expect(
      await deliver(body, {
        ...HEADERS,
        'X-Storefront-Hmac-Sha256': signatureOf(Buffer.from(body), 's'),
      }),
    ).toMatchObject([200, { accepted: 1 }, null]);
    expect(rawRecordCodec.decode(published[0]?.value ?? Buffer.alloc(0)).items).toMatchObject([
      { message_id: '', dedupe_id: 'dedupe', generated: false },
    ]);
    expect(published).toHaveLength(1);
  });

  it.each([
    ['disabled', () => connected({ enabled: false })],
    ['of another source', () => connected({ source: 'plugin_storefront' })],
    ['unknown', () => 'unknown' as const],
  ])('to a connection that is %s is answered 404', async (_, found) => {
    connection = found();
    expect(await deliver()).toEqual([404, { status: 'error', message: 'unknown webhook' }, null]);
    expect(counts).toEqual([]);
  });
});

/** The events of a record; of a long nested value only the beginning, which is what is stored. */
function storedOf(bytes: Buffer): unknown {
  const { batch } = JSON.parse(bytes.toString()) as { batch: { properties?: object }[] };
  return batch.map(({ properties = {}, ...event }) => ({
    ...event,
    properties: JSON.stringify(properties).slice(0, 8000),
  }));
}

describe('the events of one delivery', () => {
  it('carry the bytes of the delivery once and consecutive sequence numbers across partitions', async () => {
    const events = Array.from({ length: 20 }, (_, at) => ({
      type: 'track' as const,
      event: 'x',
      user_id: `u${at}`,
      message_id: `m${at}`,
    }));
    const delivery = { source: 'event_pipeline', topic: '', body: Buffer.from('{}') };
    const facts = {
      accountId: 3,
      appId: 0,
      path: '/p',
      receivedAt: 1_790_000_000_000,
      trace: 't',
      events,
      delivery,
    };
    expect(await acceptDelivery(ports, facts)).toEqual({
      outcome: 'accepted',
      published: 20,
      duplicates: 0,
      reason: undefined,
    });
    expect(
      published
        .flatMap(({ value }) => rawRecordCodec.decode(value).items.map(({ index }) => index))
        .sort((a, b) => a - b),
    ).toEqual(events.map((_, at) => at));
    const records = published.map(({ value }) => rawRecordCodec.decode(value));
    expect(records.length).toBeGreaterThan(1);
    expect(records.map((record) => record.delivery === null)).toEqual(
      records.map((_, at) => at > 0),
    );
    const sequences = records.flatMap(({ sequence, items }) => items.map((_, at) => sequence + at));
    const [lowest = 0] = sequences.sort((a, b) => a - b);
    expect(sequences).toEqual(events.map((_, at) => lowest + at));
    for (const { items, body } of records) {
      const { batch } = JSON.parse(body.toString()) as { batch: { message_id: string }[] };
      expect(items.map(({ at, message_id }) => batch[at]?.message_id === message_id)).toEqual(
        items.map(() => true),
      );
    }
  });

  it('are the same when the delivery is mapped and decided in the thread', async () => {
    const calls = Array.from({ length: 1100 }, (_, at) => ({
      type: at % 7 === 0 ? 'identify' : 'track',
      event: `e${at % 5}`,
      ...(at % 11 === 0 ? {} : { userId: `u${at % 40}` }),
      ...(at % 3 === 0 ? { messageId: at % 9 === 0 ? 'm'.repeat(300) : `m${at}` } : {}),
      properties: { list: at % 50 === 0 ? Array(3000).fill({}) : [at], price: at },
    }));
    const body = Buffer.from(JSON.stringify({ batch: calls }));
    const delivery = { source: 'event_pipeline', topic: '', body };
    const facts = { accountId: 3, appId: 0, path: '/p', receivedAt: 1_790_000_000_000, trace: 't' };
    const sent = { source: 'event_pipeline' as const, headers: {}, body };
    const inline = mapDelivery({ ...sent, raw: body });
    if (inline.outcome === 'skip') throw new Error(inline.reason);
    const result = await acceptDelivery(ports, { ...facts, delivery, events: inline.events });
    const plain = published.splice(0);
    const mapped = await decider.map(sent, 3);
    expect(mapped).toEqual(mapLargeDelivery(sent));
    if (mapped?.outcome !== 'bodies') throw new Error('not mapped in the thread');
    expect(mapped.bodies).toHaveLength(2);
    expect(await acceptDelivery(ports, { ...facts, delivery, events: mapped })).toEqual(result);
    // Those without a person, and those whose message id is too long, are not among them.
    const unnamed = calls.filter(({ userId }) => userId === undefined);
    const long = calls.filter(({ messageId = '', userId }) => messageId.length > 256 && userId);
    expect(result).toMatchObject({ published: calls.length - unnamed.length - long.length });
    const itemsOf = (records: LogRecord[]) =>
      records
        .filter(({ topic }) => topic === 'events.raw')
        .map(({ value, partition }) => {
          const { items, body: bytes, delivery: kept } = rawRecordCodec.decode(value);
          return { items, partition, kept, people: storedOf(bytes) };
        });
    expect(itemsOf(published)).toEqual(itemsOf(plain));
  });

  it('exclude an event that cannot be serialised', async () => {
    let deep: unknown = [];
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    const events = [
      { type: 'track' as const, event: 'x', user_id: 'u', message_id: 'a', properties: { deep } },
      { type: 'track' as const, event: 'x', user_id: 'u', message_id: 'b' },
    ];
    const delivery = { source: 'event_pipeline', topic: '', body: Buffer.from('{}') };
    const facts = {
      accountId: 3,
      appId: 0,
      path: '/p',
      receivedAt: 1_790_000_000_000,
      trace: 't',
      events,
      delivery,
    };
    expect(await acceptDelivery(ports, facts)).toMatchObject({
      published: 1,
      reason: 'nests too deeply',
    });
  });
});

it('the webhook route is not registered without a sealing key', () => {
  const options = {
    ports,
    decider,
    budget,
    maxRequests: 1,
    trusted: undefined,
    log,
    now: Date.now,
    isClosing: () => false,
    onAnswered: () => undefined,
  };
  expect(webhookRoutes({ ...options, webhooks: undefined }).routes).toEqual([]);
});
