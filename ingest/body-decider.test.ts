import { afterEach, describe, expect, it } from 'vitest';
import { BodyDecider } from './body-decider.ts';
import { mapLargeDelivery } from './map-body.ts';
import { decideLargeBody, type BodyToDecide } from './decide-body.ts';

const MIB = 1024 * 1024;
let decider: BodyDecider;
let failures: unknown[];

afterEach(() => decider.close());

function start(maxBodyBytes: number): void {
  failures = [];
  decider = new BodyDecider({
    // A busy machine may take minutes for what a free core does in a second.
    ...{ maxBodyBytes, timeoutMs: 600_000, random: Math.random },
    onFailure: (error) => failures.push(error),
  });
}

function input(text: string, shape: BodyToDecide['shape']): BodyToDecide {
  const facts = { type: 'track', receivedAt: 1, windowMs: 1, quota: 'open' } as const;
  return { body: Buffer.from(text), shape, ...facts };
}

const many = (unit: string, bytes = 5 * MIB) => unit.repeat(Math.floor(bytes / unit.length));
const keys = Array.from({ length: 300_000 }, (_, at) => `"key${at}":${at}`).join(',');
const people = Array.from(
  { length: 500 },
  (_, at) => `{"type":"page","user_id":"u${at}","x":[${'0,'.repeat(4000)}0]}`,
);

describe('the decider of bodies', () => {
  it.each([
    ['objects', input(`{"batch":[${many('{},')}{}]}`, 'batch')],
    ['brackets', input(many('['), 'batch')],
    [
      'nested arrays',
      input(
        `{"user_id":"u","event":"x","properties":{"a":${many('[', 2.5 * MIB)}${many(']', 2.5 * MIB)}}}`,
        'single',
      ),
    ],
    ['keys', input(`{"user_id":"u","event":"x","properties":{${keys}}}`, 'single')],
    [
      'people',
      input(
        `{"context":{"page":{"title":"${many('x', 40_000)}"}},"batch":[${people.join(',')}]}`,
        'batch',
      ),
    ],
    ['imported objects', input(`{"events":[${many('{},')}{}]}`, 'import')],
    ['imported people', input(`{"events":[${people.join(',')}]}`, 'import')],
  ])('decides 5 MiB of %s in its thread as it does outside of it', async (_, bomb) => {
    start(5 * MIB);
    const decided = await decider.decide(bomb, 1);
    expect(decided).toEqual(decideLargeBody(bomb));
    expect(decider.counters).toMatchObject({ inline: 0, thread: 1, failed: 0 });
  });

  it.each([
    ['objects', `{"a":[${many('{},', MIB)}{}]}`, 'hosted_storefront'],
    ['brackets', many('[', MIB), 'hosted_storefront'],
    ['a long order', `{"id":1,"email":"a@b.c","note":"${many('x', MIB)}"}`, 'hosted_storefront'],
    [
      'calls',
      `{"batch":[${many('{"type":"track","userId":"u","event":"x"},', MIB)}0]}`,
      'event_pipeline',
    ],
  ] as const)('maps a delivery of 1 MiB of %s in its thread', async (_, text, source) => {
    start(MIB);
    const headers = { 'x-storefront-topic': 'orders/create' };
    const delivery = { source, headers, body: Buffer.from(text) };
    expect(await decider.map(delivery, 1)).toEqual(mapLargeDelivery(delivery));
    expect(decider.counters).toMatchObject({ inline: 0, thread: 1, failed: 0 });
  });

  it('pauses its thread after a job in which it had no core, and only then', async () => {
    const pauses: number[] = [];
    const thread = {
      waitedMs: 0,
      decide: (body: BodyToDecide) => Promise.resolve(decideLargeBody(body)),
      map: () => Promise.reject(new Error('not mapped here')),
      read: () => Promise.reject(new Error('not read here')),
      end: () => Promise.resolve(),
    };
    const pause = (ms: number) => Promise.resolve(pauses.push(ms));
    decider = new BodyDecider({ maxBodyBytes: MIB, random: Math.random, thread, pause });
    const body = input(many('[', MIB), 'batch');
    for (const waitedMs of [0, 20, 0.1, 10_000, 0]) {
      thread.waitedMs = waitedMs;
      await decider.decide(body, 1);
    }
    expect(pauses).toEqual([80, 500]);
    expect(decider.counters).toMatchObject({ thread: 5, failed: 0 });
  });

  it('maps an ordinary delivery at once', () => {
    start(MIB);
    const headers = { 'x-storefront-topic': 'orders/create' };
    const body = Buffer.from('{"id":1,"email":"a@b.c"}');
    expect(decider.map({ source: 'hosted_storefront', headers, body }, 1)).toMatchObject({
      outcome: 'events',
      events: [{ event: 'order_completed' }],
    });
  });

  it('decides an ordinary body at once', () => {
    start(MIB);
    expect(decider.decide(input('{"user_id":"u","event":"x"}', 'single'), 1)).toMatchObject({
      decision: { outcome: 'decided' },
    });
  });

  it('goes on with a new thread after one whose heap was full', async () => {
    // A heap for bodies of 1 byte, and a body of 5 MiB that holds ever new keys at every level.
    start(1);
    const objects = Array.from(
      { length: 300 },
      (_, n) =>
        `{"type":"page","user_id":"u","properties":{${Array.from({ length: 2500 }, (_, at) => `"k${n}_${at}":0`).join(',')}}}`,
    );
    const heavy = input(`{"batch":[${objects.join(',')}]}`, 'batch');
    expect(await decider.decide(heavy, 1)).toBe(undefined);
    expect(failures).toHaveLength(1);
    expect(await decider.decide(input(many('['), 'batch'), 1)).toMatchObject({
      decision: { outcome: 'malformed' },
    });
  });

  it('refuses bodies of one account above its bound, and none of another', async () => {
    start(MIB);
    const bomb = input(many('[', 100_000), 'batch');
    const decided = Array.from({ length: 40 }, () => decider.decide(bomb, 1));
    expect(decided.filter((one) => one === undefined)).toHaveLength(7);
    const other = decider.decide(bomb, 2);
    expect(await other).toMatchObject({ decision: { outcome: 'malformed' } });
    for (const one of decided) await one;
    expect(decider.counters).toMatchObject({ thread: 34, refused: 7 });
  });
});
