import { describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../claims/claim-id.ts';
import { claimsToResolve } from './record-claims.ts';
import { decodeRecord, decodeRecords } from './decode-record.ts';
import { sampleEvent, sampleMessage, sampleRecord, sampleBatch } from '../testing/raw-records.ts';

const claimsOf = (...records: Parameters<typeof sampleRecord>[]) =>
  claimsToResolve(
    records.map((record, at) =>
      decodeRecord(sampleMessage(sampleRecord(...record), { partition: 3, offset: 10 + at })),
    ),
    () => 5,
  );

describe('the claims of raw records', () => {
  it('cover every item, ordered by position', () => {
    const claims = claimsOf([[sampleEvent('a'), sampleEvent('b')]], [[sampleEvent('a')]]);
    expect(claims.map(({ position }) => position)).toEqual([
      { epoch: 5, partition: 3, offset: 10, index: 0 },
      { epoch: 5, partition: 3, offset: 10, index: 1 },
      { epoch: 5, partition: 3, offset: 11, index: 0 },
    ]);
    expect(claims[0]?.id).toBe(claims[2]?.id);
    expect(claims[0]?.id).not.toBe(claims[1]?.id);
  });

  it('have the same acceptance hash for the same acceptance in different records', () => {
    const [whole, , again] = claimsOf(
      [[sampleEvent('a'), sampleEvent('b')], { sequence: 40 }],
      [[sampleEvent('b')], { sequence: 41 }],
    );
    const second = claimsOf([[sampleEvent('a'), sampleEvent('b')], { sequence: 40 }])[1];
    expect(again?.acceptance).toBe(second?.acceptance);
    expect(again?.acceptance).not.toBe(whole?.acceptance);
  });

  it('have distinct ids for message ids and generated ids, and for different accounts', () => {
    const record = sampleRecord([sampleEvent('a')]);
    const made = { ...record, items: record.items.map((item) => ({ ...item, dedupe_id: 'a' })) };
    const [claim] = claimsToResolve([decodeRecord(sampleMessage(made, { offset: 1 }))], () => 0);
    expect(claim?.id).toBe(claimId(claimScope(1, 'acceptance'), 'a'));
    const [first, second] = claimsOf([[sampleEvent('a')]], [[sampleEvent('a')], { account_id: 9 }]);
    expect(first?.id).not.toBe(second?.id);
    expect(first?.id).not.toBe(claim?.id);
  });

  it('contain the original positions of a redriven record', () => {
    const from = { epoch: 0, partition: 1, offset: 2, index: 0 };
    const claims = claimsOf([[sampleEvent('a'), sampleEvent('b')], { redriven_from: from }]);
    expect(claims.map((claim) => claim.redrivenFrom)).toEqual([from, { ...from, index: 1 }]);
  });

  it('of a batch have the numbers of its items, and are otherwise those of its records', () => {
    const records: Parameters<typeof sampleRecord>[] = [
      [[sampleEvent('a'), sampleEvent('b')], { sequence: 40 }],
      [[sampleEvent('c'), sampleEvent('b')], { sequence: 7, gateway: 'gateway-2', account_id: 5 }],
    ];
    const batch = sampleBatch(records.map((record) => sampleRecord(...record)));
    const message = sampleMessage(batch, { partition: 3, offset: 10 });
    const alone = claimsOf(...records);
    expect(claimsToResolve(decodeRecords(message), () => 5)).toEqual(
      alone.map((claim, index) => ({
        ...claim,
        position: { epoch: 5, partition: 3, offset: 10, index },
      })),
    );
  });

  it('leave out undecodable records', () => {
    expect(
      claimsToResolve([decodeRecord(sampleMessage(Buffer.from('no'), { offset: 1 }))], () => 0),
    ).toEqual([]);
  });
});
