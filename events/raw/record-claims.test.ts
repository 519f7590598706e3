import { describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../claims/claim-id.ts';
import { claimsToResolve } from './record-claims.ts';
import { decodeRecord } from './decode-record.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../testing/raw-records.ts';

const entriesOf = (...records: Parameters<typeof sampleRecord>[]) =>
  claimsToResolve(
    records.map((record, at) =>
      decodeRecord(sampleMessage(sampleRecord(...record), { partition: 3, offset: 10 + at })),
    ),
    5,
  );

describe('settleEntries', () => {
  it('asks for every item in the order of places', () => {
    const entries = entriesOf([[sampleEvent('a'), sampleEvent('b')]], [[sampleEvent('a')]]);
    expect(entries.map(({ position: place }) => place)).toEqual([
      { epoch: 5, partition: 3, offset: 10, index: 0 },
      { epoch: 5, partition: 3, offset: 10, index: 1 },
      { epoch: 5, partition: 3, offset: 11, index: 0 },
    ]);
    expect(entries[0]?.id).toBe(entries[2]?.id);
    expect(entries[0]?.id).not.toBe(entries[1]?.id);
  });

  it('names the same acceptance alike in whatever record it comes', () => {
    const [whole, , again] = entriesOf(
      [[sampleEvent('a'), sampleEvent('b')], { sequence: 40 }],
      [[sampleEvent('b')], { sequence: 41 }],
    );
    const second = entriesOf([[sampleEvent('a'), sampleEvent('b')], { sequence: 40 }])[1];
    expect(again?.acceptance).toBe(second?.acceptance);
    expect(again?.acceptance).not.toBe(whole?.acceptance);
  });

  it('keeps message ids and ids made on acceptance apart, and accounts from each other', () => {
    const record = sampleRecord([sampleEvent('a')]);
    const made = { ...record, items: record.items.map((item) => ({ ...item, dedupe_id: 'a' })) };
    const [entry] = claimsToResolve([decodeRecord(sampleMessage(made, { offset: 1 }))], 0);
    expect(entry?.id).toBe(claimId(claimScope(1, 'acceptance'), 'a'));
    const [first, second] = entriesOf(
      [[sampleEvent('a')]],
      [[sampleEvent('a')], { account_id: 9 }],
    );
    expect(first?.id).not.toBe(second?.id);
    expect(first?.id).not.toBe(entry?.id);
  });

  it('lets a redriven letter take over the claims of its old places', () => {
    const from = { epoch: 0, partition: 1, offset: 2, index: 0 };
    const entries = entriesOf([[sampleEvent('a'), sampleEvent('b')], { redriven_from: from }]);
    expect(entries.map((entry) => entry.redrivenFrom)).toEqual([from, { ...from, index: 1 }]);
  });

  it('leaves out what cannot be read', () => {
    expect(
      claimsToResolve([decodeRecord(sampleMessage(Buffer.from('no'), { offset: 1 }))], 0),
    ).toEqual([]);
  });
});
