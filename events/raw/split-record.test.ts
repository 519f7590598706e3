import { describe, expect, it } from 'vitest';
import { acceptanceHash, gatewaySeed } from '../claims/acceptance.ts';
import { partitionOf } from '../partition.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../testing/raw-records.ts';
import { decodeRecord, type DecodedRecord } from './decode-record.ts';
import { forwardedRecord, isForwarded, misplacedItems, splitRecord } from './split-record.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { normaliseEvent, ContextReader } from '../normalise.ts';
import { UserAgentCache } from '../user-agent.ts';

const USERS = ['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', 'u8'];

function decoded(partition: number): DecodedRecord {
  const record = sampleRecord(
    USERS.map((user, at) => ({ ...sampleEvent(`m${at}`), user_id: user, n: at })),
  );
  const result = decodeRecord(sampleMessage(record, { partition, offset: 7 }));
  if (result.state !== 'decoded') throw new Error('the sample cannot be decoded');
  return result;
}

const partitionOfUser = (user: string, partitions: number) =>
  partitionOf({ accountId: 1, distinctId: user, partitions });

describe('a raw record that was split by another number of partitions', () => {
  it('has misplaced items exactly where the person belongs elsewhere', () => {
    const found = misplacedItems(decoded(2), 4);
    const expected = USERS.flatMap((user, at) => (partitionOfUser(user, 4) === 2 ? [] : [at]));
    expect([...(found ?? [])]).toEqual(expected);
  });

  it('is split into records for the right partitions, each item once and in order', () => {
    const only = misplacedItems(decoded(2), 4) ?? new Set<number>();
    const parts = splitRecord(decoded(2), { partitions: 4, only });
    const items = parts.flatMap(({ partition, record }) =>
      record.items.map(({ message_id: id }) => [id, partition]),
    );
    expect(items).toEqual([...only].map((at) => [`m${at}`, partitionOfUser(USERS[at] ?? '', 4)]));
  });

  it('keeps the acceptance of each item and what its row will hold', () => {
    const whole = decoded(2);
    const contexts = new ContextReader(new UserAgentCache(10));
    const seed = gatewaySeed(whole.record.gateway);
    const rowOf = (of: DecodedRecord, index: number) => {
      const { record, envelopes, batchContext } = of;
      const item = record.items[index];
      const envelope = envelopes[item?.at ?? -1] as Record<string, unknown>;
      if (!item || item.type === 'erased') throw new Error('no item');
      const position = { epoch: 0, partition: 0, offset: 0, index: 0 };
      return normaliseEvent(
        { record, item, envelope, batchContext, position, acceptance: 0 },
        contexts,
      );
    };
    for (const { partition, record } of splitRecord(whole, { partitions: 6 })) {
      const value = rawRecordCodec.encode(forwardedRecord(record));
      const part = decodeRecord({ ...sampleMessage(value, { offset: 0 }), partition });
      if (part.state !== 'decoded') throw new Error('a part cannot be decoded');
      expect(isForwarded(part.record)).toBe(true);
      for (const [at, item] of part.record.items.entries()) {
        const before = whole.record.items.findIndex((one) => one.message_id === item.message_id);
        expect(rowOf(part, at)).toEqual(rowOf(whole, before));
        expect(acceptanceHash(seed, part.record.sequence + at)).toBe(
          acceptanceHash(seed, whole.record.sequence + before),
        );
      }
    }
  });

  it('has no misplaced items when its people belong to it', () => {
    const [user = ''] = USERS;
    const record = sampleRecord([{ ...sampleEvent('a'), user_id: user }]);
    const partition = partitionOfUser(user, 4);
    const result = decodeRecord(sampleMessage(record, { partition, offset: 1 }));
    expect(result.state === 'decoded' && misplacedItems(result, 4)).toBeUndefined();
  });
});
