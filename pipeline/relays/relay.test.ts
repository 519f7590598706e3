import { describe, expect, test } from 'vitest';
import { makeSealingKey, parseSealingKeys } from '../../platform/sealing.ts';
import { relayPurpose } from '../../events/relays/definition.ts';
import { relayOf, type RelayRow } from './relay.ts';

const ROW: RelayRow = {
  id: 7,
  accountId: 3,
  url: 'https://a.example/',
  events: ['a'],
  filters: [{ prop: 'p', op: 'exists' }],
  secret: null,
  activeSince: 100,
};
const sealer = parseSealingKeys(makeSealingKey('k1'));

describe('a relay', () => {
  test('matches events by name, filters and time', () => {
    const { matches: wants } = relayOf(ROW, undefined);
    const event = { event: 'a', received_at: 100, properties: { p: 'x' }, property_numbers: {} };
    expect(wants(event)).toBe(true);
    expect(wants({ ...event, event: 'b' })).toBe(false);
    expect(wants({ ...event, properties: {} })).toBe(false);
    expect(wants({ ...event, received_at: 99 })).toBe(false);
  });

  test('opens its secret for this relay of this account only', () => {
    const sealed = sealer?.seal('s3cret', 'relay:3:7') ?? null;
    expect(relayPurpose(ROW)).toBe('relay:3:7');
    expect(relayOf({ ...ROW, secret: sealed }, sealer).secret).toEqual({
      kind: 'opened',
      secret: 's3cret',
    });
    expect(relayOf({ ...ROW, id: 8, secret: sealed }, sealer).secret).toMatchObject({
      kind: 'sealed',
    });
    expect(relayOf(ROW, sealer).secret).toEqual({ kind: 'none' });
  });

  test('is sealed without the key, and says which key it needs', () => {
    const sealed = sealer?.seal('s3cret', 'relay:3:7') ?? null;
    const without = relayOf({ ...ROW, secret: sealed }, undefined).secret;
    expect(without).toEqual({
      kind: 'sealed',
      problem: 'waits: the secret is sealed and SEALING_KEY is not set; nothing is sent unsigned',
    });
    const unknown = relayOf(
      { ...ROW, secret: sealed },
      parseSealingKeys(makeSealingKey('k2')),
    ).secret;
    expect(unknown).toMatchObject({
      kind: 'sealed',
      problem: expect.stringContaining('k1') as string,
    });
  });
});
