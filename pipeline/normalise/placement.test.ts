import { describe, expect, it } from 'vitest';
import { decodeRecord, type DecodedRecord } from '../../events/raw/decode-record.ts';
import { encodeMarker, MARKER_KEY } from '../../events/raw/layout-marker.ts';
import { claimsToResolve } from '../../events/raw/record-claims.ts';
import { isForwarded } from '../../events/raw/split-record.ts';
import { partitionOf } from '../../events/partition.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../../events/testing/raw-records.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { claimsHere, forwards, misplacedIn, splitAtMarks, type Placement } from './placement.ts';

const MARKER = { change: 'c', epoch: 3, partitions: 6 };
const mark = (offset: number) => ({
  ...sampleMessage(encodeMarker(MARKER, 0), { offset }),
  key: Buffer.from(MARKER_KEY),
});
const event = (offset: number) =>
  sampleMessage(sampleRecord([sampleEvent(`m${offset}`)]), { offset });

describe('a batch of messages', () => {
  it('is whole without a mark', () => {
    const messages = [event(1), event(2)];
    expect(splitAtMarks(messages)).toEqual([{ marker: undefined, messages }]);
  });

  it('is split so that a mark begins a part', () => {
    const parts = splitAtMarks([event(1), mark(2), event(3), mark(4)]);
    expect(
      parts.map(({ marker, messages }) => [marker?.epoch, messages.map((m) => m.offset)]),
    ).toEqual([
      [undefined, [1]],
      [3, [2, 3]],
      [3, [4]],
    ]);
  });
});

const USERS = ['u1', 'u2', 'u3', 'u4', 'u5', 'u6'];
const placement: Placement = {
  hasGrown: () => true,
  partitionsAt: () => 4,
  passMark: () => Promise.resolve(),
};

function decoded(partition: number): DecodedRecord {
  const record = sampleRecord(
    USERS.map((user, at) => sampleEvent(`m${at}`, { user_id: user })),
    { gateway: 'g', sequence: 40 },
  );
  const result = decodeRecord(sampleMessage(record, { partition, offset: 9 }));
  if (result.state !== 'decoded') throw new Error('the sample cannot be decoded');
  return result;
}

describe('events that came by another number of partitions', () => {
  const own = partitionOf({ accountId: 1, distinctId: 'u1', partitions: 4 });
  const records = [decoded(own)];
  const misplaced = misplacedIn(records, placement);
  const elsewhere = USERS.filter(
    (distinctId) => partitionOf({ accountId: 1, distinctId, partitions: 4 }) !== own,
  );

  it('are forwarded, each once, to the partition of their person', () => {
    const sent = [...forwards(records, { misplaced, placement, topic: 'events.raw' })].flatMap(
      ({ partition, value }) => {
        const record = rawRecordCodec.decode(value);
        expect(isForwarded(record)).toBe(true);
        return record.items.map((item) => [item.message_id, partition]);
      },
    );
    expect(sent).toEqual(
      elsewhere.map((distinctId) => [
        `m${USERS.indexOf(distinctId)}`,
        partitionOf({ accountId: 1, distinctId, partitions: 4 }),
      ]),
    );
  });

  it('are claimed where they arrive, and are a repeat here', () => {
    const claims = claimsToResolve(records, () => 0);
    const here = claimsHere(claims, { records, misplaced });
    expect(here.claims.length).toBe(USERS.length - elsewhere.length);
    const resolutions = here.complete(here.claims.map(() => ({ verdict: 'first' as const })));
    expect(resolutions.map(({ verdict }) => verdict)).toEqual(
      USERS.map((user) => (elsewhere.includes(user) ? 'repeat' : 'first')),
    );
  });

  it('are none where every person belongs to the partition, or the log never grew', () => {
    expect(misplacedIn(records, undefined).size).toBe(0);
    expect(misplacedIn(records, { ...placement, hasGrown: () => false }).size).toBe(0);
    const everywhere: Placement = { ...placement, partitionsAt: () => 1 };
    expect(misplacedIn([decoded(0)], everywhere).size).toBe(0);
  });
});
