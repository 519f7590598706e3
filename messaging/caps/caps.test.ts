import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { reserveCaps, type CappedMessage } from './reserve-caps.ts';
import { sweepCaps } from './sweep-caps.ts';

const HOUR = 3_600_000;
const NOW = 1_800_000_000_000;
const OF = { accountId: 1, channel: 'email' };

let store: MigratedDatabase;

beforeAll(async () => {
  store = await migratedDatabase(['0001', '0060']);
}, 30_000);
afterAll(() => store.close());
beforeEach(() => store.database.query('DELETE FROM message_caps'));

const reserve = async (
  messages: readonly CappedMessage[],
  { now = NOW, cap = { messages: 2, hours: 24 }, of = OF } = {},
) => [...(await reserveCaps(store.database, { ...of, cap, now }, messages))].sort();
/** As the dispatcher does with an outcome (pipeline/dispatcher/store/write-chunks.ts). */
const release = (messages: readonly CappedMessage[]) =>
  Promise.all(
    messages.map(({ person, messageId }) =>
      store.database.query(
        'UPDATE message_caps SET reserved = reserved - $1::text WHERE person = $2',
        [messageId, person],
      ),
    ),
  );
const to = (person: string, ...ids: string[]) => ids.map((messageId) => ({ person, messageId }));

describe('a frequency cap', () => {
  it('gives each person as many places as it says', async () => {
    expect(await reserve([...to('p', 'a', 'b', 'c'), ...to('q', 'd')])).toEqual(['a', 'b', 'd']);
    expect(await reserve(to('p', 'e'))).toEqual([]);
    expect(await reserve(to('q', 'f', 'g'))).toEqual(['f']);
  });

  it('lets a message keep its place, so that a repeated reservation takes no second one', async () => {
    await reserve(to('p', 'a', 'b'));
    expect(await reserve(to('p', 'b'))).toEqual(['b']);
    expect(await reserve(to('p', 'c'))).toEqual([]);
  });

  it('counts the last hours, to the millisecond', async () => {
    await reserve(to('p', 'a'));
    await reserve(to('p', 'b'), { now: NOW + HOUR });
    expect(await reserve(to('p', 'c'), { now: NOW + 24 * HOUR - 1 })).toEqual([]);
    expect(await reserve(to('p', 'c'), { now: NOW + 24 * HOUR })).toEqual(['c']);
    expect(await reserve(to('p', 'd'), { now: NOW + 24 * HOUR })).toEqual([]);
  });

  it('gives the place of a message that waited too long to another one', async () => {
    await reserve(to('p', 'a'), { cap: { messages: 1, hours: 1 } });
    const later = { now: NOW + 2 * HOUR, cap: { messages: 1, hours: 1 } };
    expect(await reserve(to('p', 'b'), later)).toEqual(['b']);
    expect(await reserve(to('p', 'a'), later)).toEqual([]);
  });

  it('is of one account and one channel', async () => {
    await reserve(to('p', 'a', 'b'));
    expect(await reserve(to('p', 'c'), { of: { accountId: 2, channel: 'email' } })).toEqual(['c']);
    expect(await reserve(to('p', 'd'), { of: { accountId: 1, channel: 'sms' } })).toEqual(['d']);
  });

  it('of no messages lets none pass', async () => {
    expect(await reserve(to('p', 'a'), { cap: { messages: 0, hours: 24 } })).toEqual([]);
  });

  it('gives a place back when its message was not sent', async () => {
    await reserve([...to('p', 'a', 'b'), ...to('q', 'c', 'd')]);
    await release([...to('p', 'a', 'b'), ...to('q', 'c')]);
    expect(await reserve([...to('p', 'e', 'f', 'g'), ...to('q', 'h', 'i')])).toEqual([
      ...['e', 'f', 'h'],
    ]);
  });

  it('leaves nothing behind once its hours are over', async () => {
    const past = Date.now() - 25 * HOUR;
    await reserve([...to('p', 'a'), ...to('q', 'b'), ...to('r', 'c')], { now: past });
    await reserve(to('s', 'd'), { now: Date.now() });
    expect(await sweepCaps(store.database, 2)).toBe(2);
    expect(await sweepCaps(store.database, 2)).toBe(1);
    expect(await sweepCaps(store.database, 2)).toBe(0);
    const { rows } = await store.database.query('SELECT person FROM message_caps');
    expect(rows).toEqual([{ person: 's' }]);
  });

  it('is never exceeded, whatever is reserved and released in whatever order', async () => {
    const step = fc.record({
      kind: fc.constantFrom('reserve', 'release'),
      person: fc.constantFrom('p', 'q'),
      id: fc.nat(5),
      after: fc.nat(10),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        await store.database.query('DELETE FROM message_caps');
        const cap = { messages: 2, hours: 20 / (HOUR / 1000) };
        const model = new Map<string, number>();
        let now = NOW;
        for (const { kind, person, id, after } of steps) {
          now += after * 1000;
          const messageId = `${person}${id}`;
          if (kind === 'release') {
            await release([{ person, messageId }]);
            model.delete(messageId);
            continue;
          }
          const others = [...model].filter(
            ([one, at]) => one[0] === person && one !== messageId && at > now - 20_000,
          );
          const mayPass = others.length < 2;
          const wave = await reserveCaps(store.database, { ...OF, cap, now }, [
            { person, messageId },
          ]);
          expect(wave.has(messageId)).toBe(mayPass);
          if (mayPass) model.set(messageId, now);
        }
      }),
      { numRuns: 60 },
    );
  });
});
