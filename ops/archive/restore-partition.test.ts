import { expect, it } from 'vitest';
import type { OutgoingRecord } from '../../platform/kafka/producer.ts';
import { encodeObject, type ArchivedRecord } from './object-format.ts';
import { restorePartition } from './restore-partition.ts';

const record = (offset: number): ArchivedRecord => ({
  ...{ offset, timestamp: 1000 + offset, key: null },
  value: Buffer.from(`record ${offset}`),
});
const records = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => record(from + at));

/** A partition that numbers what it gets, and a store of two objects, which overlap. */
async function given({ end = 0, damaged = false } = {}) {
  const objects = new Map([
    ['a', await encodeObject(records(5, damaged ? 8 : 10))],
    ['b', await encodeObject(records(8, 20))],
  ]);
  const log: OutgoingRecord[] = [];
  const writer = {
    store: { get: (name: string) => Promise.resolve(objects.get(name) ?? Buffer.alloc(0)) },
    producer: {
      publish: (one: OutgoingRecord) => Promise.resolve(end + log.push(one) - 1),
    },
    signal: new AbortController().signal,
  };
  const pieces = [
    { name: 'a', from: 5, to: 10 },
    { name: 'b', from: 10, to: 20 },
  ];
  const plan = { pieces, low: 5, high: 20, gaps: [] };
  const to = { topic: 'events.raw', partition: 0, next: end };
  return { log, restored: restorePartition(writer, { plan, to }) };
}

it('puts each record at its own offset, with its append time', async () => {
  const { log, restored } = await given();
  await restored;
  expect(log.map(({ value }) => value.toString())).toEqual([
    ...['', '', '', '', ''],
    ...records(5, 20).map(({ value }) => value?.toString()),
  ]);
  expect(log.at(-1)).toMatchObject({ partition: 0, timestamp: 1019 });
});

it('continues where a killed command ended, also within an object', async () => {
  const { log, restored } = await given({ end: 12 });
  await restored;
  expect(log.map(({ value }) => value.toString())).toEqual(
    records(12, 20).map(({ value }) => value?.toString()),
  );
});

it('refuses an object that lacks records', async () => {
  await expect((await given({ damaged: true })).restored).rejects.toThrow('it is damaged');
});
