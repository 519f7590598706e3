import { describe, expect, it } from 'vitest';
import { AvroWriter } from '../../schemas/avro-writer.ts';
import {
  deadLetterCodec,
  identityCommandCodec,
  rawRecordCodec,
  rowBatchCodec,
} from '../../schemas/codec.ts';
import type { DeadLetter, EventRow } from '../../schemas/records.ts';
import { joinRowBatch, sliceRowBatch } from '../../schemas/row-batch.ts';
import { RowEncoder } from '../../schemas/row-encoder.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { decodeRecord } from '../raw/decode-record.ts';
import { ContextReader, normaliseEvent } from '../normalise.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../testing/raw-records.ts';
import { UserAgentCache } from '../user-agent.ts';
import { eraseFromDeadLetter, withoutErasedEvents } from './dead-letter.ts';
import { ErasedPeople, idHash } from './erased-people.ts';
import { eraseFromIdentityCommand } from './identity-command.ts';
import { eraseFromRowBatch } from './row-batch.ts';

const KEY = Buffer.alloc(32, 9);
const erased = new ErasedPeople(
  [
    {
      ...{ id: 1, accountId: 1, keyId: 1, requestedAt: 1000, addresses: [] },
      names: [idHash(KEY, 1, 'user-1').toString('hex')],
      cuts: [{ partition: 0, epoch: 1, offset: 10 }],
    },
  ],
  new Map([[1, KEY]]),
);
const contexts = new ContextReader(new UserAgentCache(10));

function rowOf(user_id: string, { epoch = 1, offset = 5, index = 0 } = {}): EventRow {
  const record = sampleRecord([sampleEvent('m', { user_id })]);
  const decoded = decodeRecord(sampleMessage(record, { offset }));
  const [item] = record.items;
  if (decoded.state !== 'decoded' || !item || item.type === 'erased') throw new Error('no event');
  const envelope = decoded.envelopes[0] as Record<string, unknown>;
  const position = { epoch, partition: 0, offset, index };
  return normaliseEvent(
    { record, item, envelope, batchContext: undefined, position, acceptance: 0 },
    contexts,
  );
}

function batchOf(rows: readonly EventRow[], version: number): Buffer {
  const writer = new AvroWriter(64);
  const encoder = new RowEncoder();
  for (const row of rows) encoder.encode(row, writer, version);
  const [first, last] = [rows[0], rows.at(-1)];
  const head = {
    ...{ epoch: first?._epoch ?? 0, partition: 0, appended_at: 1 },
    ...{ first_offset: first?._offset ?? 0, first_index: first?._index ?? 0 },
    ...{ last_offset: last?._offset ?? 0, last_index: last?._index ?? 0 },
  };
  return joinRowBatch({ version, head, count: rows.length, rows: writer.bytes(0, writer.end) });
}

describe.each([1, 2])('a row batch of version %i', (version) => {
  const rows = [
    rowOf('user-1'),
    rowOf('user-2', { index: 1 }),
    rowOf('user-1', { offset: 9 }),
    rowOf('user-1', { offset: 10 }),
  ];

  it('loses the rows of an erased person before the cut; the others keep their bytes', () => {
    const left = eraseFromRowBatch(batchOf(rows, version), erased);
    const kept = rows.filter((_, at) => at === 1 || at === 3);
    const after = left && sliceRowBatch(left);
    const expected = sliceRowBatch(batchOf(kept, version));
    expect(after?.rows).toEqual(expected?.rows);
    expect(after).toMatchObject({ version, count: 2, head: { first_offset: 5, last_offset: 10 } });
  });

  it('can be left without rows', () => {
    const left = eraseFromRowBatch(batchOf([rowOf('user-1')], version), erased);
    expect(left && rowBatchCodec.decode(left)).toMatchObject({ rows: [], first_offset: 5 });
    expect(left && eraseFromRowBatch(left, erased)).toBeUndefined();
  });

  it('is left as it is behind the cut and without the person', () => {
    for (const row of [rowOf('user-1', { epoch: 2 }), rowOf('user-2')])
      expect(eraseFromRowBatch(batchOf([row], version), erased)).toBeUndefined();
  });
});

describe('a dead letter', () => {
  const record = sampleRecord([
    sampleEvent('a', { user_id: 'user-2' }),
    sampleEvent('b', { user_id: 'user-1' }),
  ]);
  const deadLetter = (of: Partial<DeadLetter>): DeadLetter => ({
    ...{ stage: 'normalise', reason: 'r', detail: 'user-1', fingerprint: 'f', topic: TOPIC.raw },
    ...{ partition: 0, offset: 5, index: null, indexes: [], events: 2, account_id: 1 },
    ...{ message_id: 'b', failed_at: 0, appended_at: 0, key: null },
    value: rawRecordCodec.encode(record),
    ...of,
  });
  const epochOf = () => 1;

  it('of an erased event is empty, without its message id', () => {
    const left = withoutErasedEvents(deadLetter({ index: 1 }), erased, epochOf);
    expect(left).toMatchObject({
      isEmpty: true,
      deadLetter: { message_id: '', detail: '', index: 1 },
    });
    expect(left?.deadLetter.value.includes('user-1')).toBe(false);
  });

  it('of another event in the record can still be redriven', () => {
    const left = withoutErasedEvents(deadLetter({ index: 0, message_id: 'a' }), erased, epochOf);
    expect(left).toMatchObject({ isEmpty: false, deadLetter: { message_id: 'a' } });
  });

  it('of the sink is empty without its row', () => {
    const value = batchOf([rowOf('user-1')], 2);
    const found = deadLetter({ topic: TOPIC.normalised, stage: 'project', index: 0, value });
    expect(withoutErasedEvents(found, erased, epochOf)?.isEmpty).toBe(true);
    const bytes = eraseFromDeadLetter(deadLetterCodec.encode(found), erased, epochOf);
    expect(bytes?.includes('user-1')).toBe(false);
  });

  it('behind the cut is left as it is', () => {
    expect(withoutErasedEvents(deadLetter({ offset: 10 }), erased, epochOf)).toBeUndefined();
  });
});

it('A command about an alias loses the names of an erased person, unless it is later', () => {
  const command = { account_id: 1, command: 'undo', until: 5, user_id: '', previous_id: 'user-1' };
  const value = identityCommandCodec.encode({ ...command, requested_at: 1000 });
  const left = eraseFromIdentityCommand(value, erased);
  expect(left && identityCommandCodec.decode(left)).toMatchObject({ previous_id: '', until: 5 });
  const later = identityCommandCodec.encode({ ...command, requested_at: 1001 });
  expect(eraseFromIdentityCommand(later, erased)).toBeUndefined();
});

it('Nothing is read while the key of an erasure is missing', () => {
  const erasure = {
    id: 4,
    accountId: 1,
    keyId: 2,
    names: [],
    addresses: [],
    requestedAt: 0,
    cuts: [],
  };
  expect(() => new ErasedPeople([erasure], new Map())).toThrow('the key 2 of erasure 4 is missing');
});
