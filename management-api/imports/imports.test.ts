import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partitionOf } from '../../events/partition.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { startAcceptance } from './acceptance.ts';
import { planRecords, type AcceptedItem } from './plan.ts';

const facts = {
  accountId: 7,
  receivedAt: 5,
  trace: 't',
  path: '/v1/events',
  gateway: 'g',
  sequence: 100,
  partitions: 3,
};

function itemsOf(names: readonly string[]): AcceptedItem[] {
  return names.map((name, index) => ({
    event: {
      index,
      type: 'track',
      distinctId: name,
      message_id: `m${index}`,
      generated: false,
      timestamp: index,
      warnings: [],
    },
    bytes: Buffer.from(`{"n": ${index}}`),
    messageId: `m${index}`,
    dedupeId: `d${index}`,
  }));
}

describe('planRecords', () => {
  it('puts every item once where its person belongs, in the order sent, under an acceptance number of its own', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 20 }),
        (names) => {
          const planned = planRecords(itemsOf(names), facts);
          expect(new Set(planned.map(({ partition }) => partition)).size).toBe(planned.length);
          const sequences: number[] = [];
          const indexes: number[] = [];
          for (const { partition, key, record } of planned) {
            const read = rawRecordCodec.decode(rawRecordCodec.encode(record));
            const { batch } = JSON.parse(read.body.toString()) as { batch: { n: number }[] };
            const owners = read.items.map((item) => names[item.index] ?? '');
            expect(batch.map(({ n }) => n)).toEqual(read.items.map((item) => item.index));
            expect(read.items.map((item) => item.at)).toEqual(read.items.map((_, at) => at));
            expect(read.items.map((item) => item.index)).toEqual(
              read.items.map((item) => item.index).toSorted((a, b) => a - b),
            );
            for (const name of owners)
              expect(partitionOf({ accountId: 7, name, partitions: 3 })).toBe(partition);
            expect(key).toBe(new Set(owners).size === 1 ? `7:${owners[0] ?? ''}` : null);
            sequences.push(...read.items.map((_, at) => read.sequence + at));
            indexes.push(...read.items.map((item) => item.index));
          }
          expect(sequences.toSorted((a, b) => a - b)).toEqual(names.map((_, at) => 100 + at));
          expect(indexes.toSorted((a, b) => a - b)).toEqual(names.map((_, at) => at));
        },
      ),
    );
  });

  it('says nothing about the connection of the backend, and gives each item its own dedupe key', () => {
    const [planned] = planRecords(itemsOf(['a', 'a']), facts);
    expect(planned?.record).toMatchObject({
      ip: '',
      user_agent: '',
      origin: '',
      app_id: 0,
      write_key_id: 0,
      source: 'import',
      shape: 'batch',
    });
    expect(planned?.record.items.map((item) => item.dedupe_id)).toEqual(['d0', 'd1']);
  });
});

it('acceptance numbers of a process never meet', () => {
  const acceptance = startAcceptance('g');
  expect([acceptance.take(3), acceptance.take(1), acceptance.take(2)]).toEqual([0, 3, 4]);
});
