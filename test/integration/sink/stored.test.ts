import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deadLetterCodec, eventRowCodec, rowBatchCodec } from '../../../schemas/codec.ts';
import { joinRowBatch, sliceRowBatch } from '../../../schemas/row-batch.ts';
import { COLUMNS } from '../../../projections/events/insert-batch.ts';
import { readyStack, rows } from '../../support/stack.ts';
import { readWholeTopic } from '../../support/read-topic.ts';
import { EMPTY_ROW, SinkUnderTest } from './sink-under-test.ts';

const DAY = 86_400_000;

describe('the events sink', () => {
  let sink: SinkUnderTest;
  let stored = 0;
  beforeAll(async () => {
    sink = await SinkUnderTest.open(readyStack().kafka_brokers);
    sink.start('one');
  });
  afterAll(() => sink.close());

  const readDeadLetters = async () =>
    (await readWholeTopic(sink.deadTopic)).map(({ value }) => deadLetterCodec.decode(value));

  it('stores every column unchanged and leaves out the fields that only profiles use', async () => {
    const row = {
      ...EMPTY_ROW,
      _offset: 1,
      _acceptance: 2 ** 32 - 1,
      account_id: 7,
      app_id: 8,
      type: 'track',
      event: 'خرید',
      user_id: 'u',
      message_id: 'm',
      timestamp: Date.UTC(2026, 10, 1, 2, 3, 4, 567),
      received_at: Date.UTC(2026, 10, 2),
      properties: { رنگ: 'آبی', empty: '' },
      property_numbers: { price: 12.5 },
      revenue: 3.25,
      is_bot: true,
      campaign_id: 2 ** 52,
      city: 'تهران',
      traits: { name: 'x' },
      trait_numbers: { age: 3 },
      profile: { email: 'a@b.c' },
    };
    await sink.publish(0, [row]);
    stored = 1;
    await sink.untilStored(stored);
    const [found] = await rows<Record<string, unknown>>(
      sink.clickhouse,
      'SELECT *, sipHash64(user_id) = _person AS person_matches FROM events',
    );
    const columns = Object.fromEntries(
      Object.entries(row).filter(([name]) => COLUMNS.includes(name)),
    );
    expect(found).toMatchObject({
      ...columns,
      timestamp: '2026-11-01 02:03:04.567',
      received_at: '2026-11-02 00:00:00.000',
      _property_words: ['رنگ=آبی'],
      person_matches: 1,
    });
    expect(Object.keys(found ?? {}).toSorted()).toEqual(
      [...Object.keys(columns), '_property_words', 'person_matches'].toSorted(),
    );
  });

  it('stores only the new rows of an overlapping record and none of a repeated one', async () => {
    const at = (offset: number) => ({ _offset: offset, _index: 0 });
    await sink.publish(1, [at(1), at(2), at(3)]);
    await sink.publish(1, [at(2), at(3)]);
    await sink.publish(1, [at(3), at(4), at(5)]);
    await sink.publish(1, [at(5), at(6)]);
    stored += 6;
    expect(await sink.untilStored(stored)).toEqual({ stored, places: stored });
  });

  it('stores a batch that spans many months, also with rows that are expired on arrival', async () => {
    const now = Date.now();
    await sink.publish(
      0,
      Array.from({ length: 30 }, (_, n) => ({
        _offset: 10,
        _index: n,
        timestamp: now - n * 13 * DAY,
      })),
    );
    await sink.publish(0, [{ _offset: 11, timestamp: now - 500 * DAY }, { _offset: 12 }]);
    stored += 30 + 1;
    await sink.untilStored(stored);
    const [fresh] = await rows<{ n: number }>(
      sink.clickhouse,
      'SELECT count() AS n FROM events WHERE timestamp > now() - INTERVAL 400 DAY',
    );
    expect(fresh?.n).toBe(stored);
  });

  it('sends a record that it cannot decode to events.dead, with its bytes, and continues', async () => {
    const poison = Buffer.from('this is not a row batch');
    const offset = await sink.append(1, poison);
    const whole = rowBatchCodec.encode({
      ...{
        epoch: 0,
        partition: 1,
        first_offset: 20,
        first_index: 0,
        last_offset: 21,
        last_index: 0,
        appended_at: 1,
      },
      rows: [20, 21].map((at) => ({ ...EMPTY_ROW, _partition: 1, _offset: at })),
    });
    const rowBatch = sliceRowBatch(whole);
    if (!rowBatch) throw new Error('a row batch of the newest version can be sliced');
    const torn = joinRowBatch({ ...rowBatch, rows: rowBatch.rows.subarray(0, -30) });
    const tornAt = await sink.append(1, torn);
    await sink.publish(1, [{ _offset: 22 }, { _offset: 23 }]);
    stored += 2;
    expect((await sink.untilStored(stored)).places).toBeGreaterThanOrEqual(stored);
    const found = await readDeadLetters();
    expect(found).toContainEqual(
      expect.objectContaining({
        stage: 'project',
        reason: 'not_single_object',
        partition: 1,
        offset,
        index: null,
        value: poison,
      }),
    );
    expect(found).toContainEqual(
      expect.objectContaining({
        reason: 'broken_rows',
        partition: 1,
        offset: tornAt,
        index: null,
        events: 2,
        value: torn,
      }),
    );
  });

  it('sends each row that ClickHouse refuses to events.dead and stores the rest of the batch', async () => {
    await sink.clickhouse.command({
      query: "ALTER TABLE events ADD CONSTRAINT no_poison CHECK event != 'poison'",
    });
    const places = Array.from({ length: 200 }, (_, n) => ({
      _offset: 30,
      _index: n,
      message_id: `p${n}`,
      account_id: 5,
      event: n % 67 === 66 ? 'poison' : 'fine',
    }));
    const offset = await sink.publish(1, places);
    stored += 198;
    await sink.untilStored(stored);
    const found = (await readDeadLetters()).filter(
      ({ reason }) => reason === 'VIOLATED_CONSTRAINT',
    );
    expect(
      found.map(({ index, message_id, account_id, events, offset: at }) => ({
        index,
        message_id,
        account_id,
        events,
        at,
      })),
    ).toEqual(
      [66, 133].map((n) => ({
        index: n,
        message_id: `p${n}`,
        account_id: 5,
        events: 1,
        at: offset,
      })),
    );
    const [deadLetter] = found;
    const rowBatch = deadLetter && sliceRowBatch(deadLetter.value);
    expect(rowBatch?.head).toMatchObject({
      first_offset: 30,
      first_index: 66,
      last_offset: 30,
      last_index: 66,
    });
    expect(rowBatch && eventRowCodec.type.fromBuffer(rowBatch.rows)).toMatchObject({
      message_id: 'p66',
      event: 'poison',
    });
    await sink.clickhouse.command({ query: 'ALTER TABLE events DROP CONSTRAINT no_poison' });
  });

  it('waits while ClickHouse or PostgreSQL is unavailable, then catches up', async () => {
    for (const [n, server] of [sink.servers.clickhouse, sink.servers.postgres].entries()) {
      await server.kill();
      for (let k = 0; k < 20; k++)
        await sink.publish(k % 2, [{ _offset: 100 + n * 100 + k, _index: 0 }]);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await server.start();
      stored += 20;
      await sink.untilStored(stored);
    }
    const { stored: all, places } = await sink.counts();
    expect(all).toBe(places);
  });
});
