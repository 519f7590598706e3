import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Ravand } from './ravand.ts';
import { startHost, type TestHost } from './testing/host.ts';
import type { RavandError, RavandOptions } from './types.ts';

let host: TestHost;
let folder: string;
const open: Ravand[] = [];

beforeEach(async () => {
  host = await startHost();
  folder = mkdtempSync(join(tmpdir(), 'ravand-node-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(open.splice(0).map((ravand) => ravand.close(0)));
  await host.close();
  rmSync(folder, { recursive: true });
});

function make(options: Partial<RavandOptions> = {}) {
  const ravand = new Ravand({ writeKey: 'wk_svc_1', host: host.url, ...options });
  open.push(ravand);
  const errors: RavandError[] = [];
  const rejected: { ids: string[]; reason: string }[] = [];
  ravand.on('error', (error) => errors.push(error)).on('rejected', (one) => rejected.push(one));
  return { ravand, errors, rejected };
}

/** Attempts follow each other at once. */
const withoutJitter = () => vi.spyOn(Math, 'random').mockReturnValue(0);
const call = (event: string) => ({ userId: 'u', event });
const sentIds = () => host.received.flatMap(({ ids }) => ids);

describe('the calls', () => {
  it('become items of a batch', async () => {
    const { ravand } = make();
    const at = new Date('2026-11-23T10:00:00Z');
    const ids = [
      ravand.track({ userId: 'u', event: 'خرید', properties: { total: 5 }, timestamp: at }),
      ravand.identify({ userId: 'u', anonymousId: 'a', traits: { city: 'تهران' } }),
      ravand.page({ anonymousId: 'a', name: 'خانه', messageId: 'own' }),
      ravand.screen({ anonymousId: 'a', context: { locale: 'fa' } }),
      ravand.alias({ userId: 'u', previousId: 'a' }),
    ];
    expect(await ravand.flush()).toEqual({ sent: 5, pending: 0 });
    const [batch] = host.received;
    expect(batch).toMatchObject({ path: '/v1/batch', ids });
    expect(batch?.headers.authorization).toBe('Bearer wk_svc_1');
    const library = { name: 'ravand-node', version: '1.0.0' };
    expect(batch?.body).toMatchObject({
      batch: [
        {
          ...{ type: 'track', user_id: 'u', event: 'خرید', properties: { total: 5 } },
          ...{ timestamp: at.toISOString(), context: { library } },
        },
        { type: 'identify', user_id: 'u', anonymous_id: 'a', traits: { city: 'تهران' } },
        { type: 'page', anonymous_id: 'a', event: 'خانه', message_id: 'own' },
        { type: 'screen', context: { library, locale: 'fa' } },
        { type: 'alias', user_id: 'u', previous_id: 'a' },
      ],
      sent_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      context: { library: { ...library, balance: { made: 5, stored: 5, sent: 0, dropped: {} } } },
    });
  });

  it('have strictly increasing times, whatever the clock does', async () => {
    const { ravand } = make();
    const now = Date.now();
    for (const at of [now, now, now - 60_000, now + 1]) {
      vi.spyOn(Date, 'now').mockReturnValue(at);
      ravand.track(call('e'));
    }
    vi.restoreAllMocks();
    await ravand.flush();
    const { batch } = host.received[0]?.body as { batch: { timestamp: string }[] };
    const times = batch.map(({ timestamp }) => Date.parse(timestamp));
    expect(times).toEqual([now, now + 1, now + 2, now + 3]);
  });

  it('never throw: what JSON cannot hold is dropped and reported', async () => {
    const { ravand, rejected } = make();
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    const id = ravand.track({ ...call('e'), properties: circular });
    ravand.track({ ...call('e'), timestamp: 'no time' });
    await ravand.flush();
    expect(rejected).toMatchObject([{ ids: [id], reason: /^JSON cannot hold it: TypeError/ }]);
    expect(ravand.balance).toMatchObject({ made: 2, sent: 1, dropped: { invalid: 1 }, pending: 0 });
  });

  it('are sent after the interval, and at once when there are enough', async () => {
    const { ravand } = make({ flushAt: 3, flushInterval: 20 });
    ravand.track(call('a'));
    await expect.poll(() => sentIds().length).toBe(1);
    const { ravand: slow } = make({ flushAt: 3, flushInterval: 3_600_000 });
    for (const event of ['b', 'c', 'd']) slow.track(call(event));
    await expect.poll(() => sentIds().length).toBe(4);
  });
});

describe('an answer', () => {
  it.each([[503], [500], [429]])('%d: the same events are sent again', async (status) => {
    withoutJitter();
    const { ravand } = make();
    host.next.push({ status }, { status });
    const id = ravand.track(call('e'));
    expect(await ravand.flush()).toEqual({ sent: 1, pending: 0 });
    expect(host.received.map(({ ids }) => ids)).toEqual([[id], [id], [id]]);
  });

  it('429 with Retry-After: nothing is sent before that', async () => {
    withoutJitter();
    const { ravand } = make();
    host.next.push({ status: 429, headers: { 'retry-after': '1' } });
    ravand.track(call('a'));
    expect(await ravand.flush(200)).toEqual({ sent: 0, pending: 1 });
    ravand.track(call('b'));
    expect(await ravand.flush(0)).toEqual({ sent: 0, pending: 2 });
    expect(host.received).toHaveLength(1);
    expect(await ravand.flush(5000)).toEqual({ sent: 2, pending: 0 });
  });

  it('that is lost after the host has read the request: sent again under the same id', async () => {
    withoutJitter();
    const { ravand } = make();
    host.next.push('drop');
    const id = ravand.track(call('e'));
    expect(await ravand.flush()).toEqual({ sent: 1, pending: 0 });
    expect(sentIds()).toEqual([id, id]);
  });

  it.each([[401], [402], [403]])('%d: the batch is dropped, the rest waits', async (status) => {
    const { ravand, errors, rejected } = make();
    host.next.push({ status, body: { status: 'error', message: 'چرا' } });
    const id = ravand.track(call('a'));
    expect(await ravand.flush()).toEqual({ sent: 0, pending: 0 });
    ravand.track(call('b'));
    expect(await ravand.flush(1000)).toEqual({ sent: 0, pending: 1 });
    expect(sentIds()).toEqual([id]);
    expect(rejected).toEqual([{ ids: [id], reason: 'چرا' }]);
    expect(errors).toMatchObject([
      { code: 'refused', status, message: `the host answered ${status}: چرا` },
    ]);
    expect(ravand.balance.dropped).toEqual({ [`http_${status}`]: 1 });
  });

  it('401 is printed where nobody listens', async () => {
    const printed = vi.spyOn(console, 'error').mockReturnValue();
    const ravand = new Ravand({ writeKey: 'wk_svc_1', host: host.url });
    open.push(ravand);
    host.next.push({ status: 401, body: { status: 'error', message: 'unknown key' } });
    ravand.track(call('a'));
    await ravand.flush(1000);
    expect(printed.mock.calls).toEqual([['ravand: the host answered 401: unknown key']]);
  });

  it('413: halves are sent, and only an event that is too large alone is dropped', async () => {
    const { ravand, rejected } = make();
    const ids = Array.from({ length: 7 }, (_, at) => ravand.track(call(`e${at}`)));
    const large = ids[4] ?? '';
    host.otherwise = ({ ids: some }) =>
      some.includes(large) || some.length > 4
        ? { status: 413, body: { message: 'too large' } }
        : { status: 200, body: { status: 'ok' } };
    expect(await ravand.flush()).toEqual({ sent: 6, pending: 0 });
    expect(rejected).toEqual([{ ids: [large], reason: 'too large' }]);
    expect(ravand.balance).toMatchObject({ made: 7, sent: 6, dropped: { http_413: 1 } });
  });

  it('400 for one event that makes the whole request malformed: it alone is dropped', async () => {
    const { ravand } = make();
    const ids = Array.from({ length: 16 }, (_, at) => ravand.track(call(`e${at}`)));
    host.otherwise = ({ ids: some }) =>
      some.includes(ids[9] ?? '') ? { status: 400 } : { status: 200, body: { status: 'ok' } };
    expect(await ravand.flush()).toEqual({ sent: 15, pending: 0 });
    expect(host.received.length).toBeLessThan(16);
  });

  it('200 with errors: the items that are named are dropped with their reasons', async () => {
    const { ravand, rejected } = make();
    const sent: string[][] = [];
    ravand.on('sent', (some) => sent.push(some));
    const ids = ['a', 'b', 'c'].map((event) => ravand.track(call(event)));
    const errors = [
      { index: 1, reason: 'id_too_long: user_id' },
      { index: 9, reason: 'of no event' },
    ];
    host.next.push({ status: 200, body: { status: 'ok', accepted: 2, rejected: 1, errors } });
    expect(await ravand.flush()).toEqual({ sent: 2, pending: 0 });
    expect(sent).toEqual([[ids[0], ids[2]]]);
    expect(rejected).toEqual([{ ids: [ids[1]], reason: 'id_too_long: user_id' }]);
    expect(ravand.balance.dropped).toEqual({ id_too_long: 1 });
  });

  it('of a proxy, for people, and a redirect are none', async () => {
    withoutJitter();
    const { ravand } = make();
    host.next.push(
      { status: 200, body: '<html>sign in</html>', headers: { 'content-type': 'text/html' } },
      { status: 302, headers: { location: '/elsewhere' } },
    );
    ravand.track(call('e'));
    expect(await ravand.flush()).toEqual({ sent: 1, pending: 0 });
    expect(host.received.map(({ path }) => path)).toEqual(Array(3).fill('/v1/batch'));
  });
});

it('batches use connections again', async () => {
  const { ravand } = make();
  for (let batch = 0; batch < 10; batch++) {
    ravand.track(call('e'));
    await ravand.flush();
  }
  expect(host.received).toHaveLength(10);
  // A connection is free a moment after its answer.
  expect(host.connections).toBeLessThan(4);
});

it('in a serverless function what one call could not send is sent by the next', async () => {
  const { ravand } = make();
  host.otherwise = () => ({ status: 503 });
  const first = ravand.track(call('first'));
  expect(await ravand.flush(50)).toEqual({ sent: 0, pending: 1 });
  host.otherwise = () => ({ status: 200, body: { status: 'ok' } });
  withoutJitter();
  const second = ravand.track(call('second'));
  expect(await ravand.flush(10_000)).toEqual({ sent: 2, pending: 0 });
  expect(host.received.at(-1)?.ids).toEqual([first, second]);
});

describe('the queue', () => {
  it('drops the oldest when it is full, counts it and says so', async () => {
    const { ravand, errors, rejected } = make({ maxQueue: 2, flushAt: 100 });
    const ids = ['a', 'b', 'c'].map((event) => ravand.track(call(event)));
    expect(await ravand.flush()).toEqual({ sent: 2, pending: 0 });
    expect(rejected).toMatchObject([{ ids: [ids[0]] }]);
    expect(errors.map(({ code }) => code)).toEqual(['queue_full']);
    expect(ravand.balance).toEqual({
      ...{ made: 3, stored: 3, sent: 2, dropped: { full: 1 }, pending: 0 },
    });
  });

  it('in a file is sent by the next process, with what became of it unknown to nobody', async () => {
    const queueFile = join(folder, 'queue');
    host.otherwise = () => 'drop';
    const { ravand: first } = make({ queueFile });
    const id = first.track(call('a'));
    expect(await first.close(100)).toEqual({ sent: 0, pending: 1 });
    host.otherwise = () => ({ status: 200, body: { status: 'ok' } });
    const { ravand: second } = make({ queueFile });
    const later = second.track(call('b'));
    expect(await second.flush()).toEqual({ sent: 2, pending: 0 });
    expect(host.received.at(-1)?.ids).toEqual([id, later]);
  });

  it('in a file that was first sent 47 hours ago is given up: it may be there twice', async () => {
    const queueFile = join(folder, 'queue');
    host.otherwise = () => 'drop';
    const { ravand: first } = make({ queueFile });
    const attempted = first.track(call('attempted'));
    await first.flush(0);
    await expect.poll(() => host.received.length).toBe(1);
    const never = first.track(call('never'));
    await first.close(0);
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + 47 * 3_600_000 + 1000);
    host.otherwise = () => ({ status: 200, body: { status: 'ok' } });
    host.received.length = 0;
    const { ravand: second, rejected } = make({ queueFile });
    await second.flush();
    expect(sentIds()).toEqual([never]);
    expect(rejected).toMatchObject([{ ids: [attempted] }]);
    expect(second.balance.dropped).toEqual({ unknown: 1 });
  });

  it('takes no more calls once it is closed', async () => {
    const { ravand, rejected } = make();
    ravand.track(call('a'));
    const closing = ravand.close();
    expect(await closing).toEqual({ sent: 1, pending: 0 });
    expect(ravand.close()).toBe(closing);
    const id = ravand.track(call('b'));
    await Promise.resolve();
    expect(rejected).toEqual([{ ids: [id], reason: 'the SDK is closed' }]);
    expect(ravand.balance).toMatchObject({ made: 2, sent: 1, dropped: { closed: 1 } });
  });
});

it.each<[string, Partial<RavandOptions>]>([
  ['writeKey', { writeKey: '' }],
  ['host', { host: 'example' }],
])('a wrong %s is refused at once', (_, options) => {
  expect(() => new Ravand({ writeKey: 'w', host: host.url, ...options })).toThrow(
    expect.objectContaining({ name: 'RavandError', code: 'configuration' }),
  );
});
