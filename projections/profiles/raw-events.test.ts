import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContextReader } from '../../events/normalise.ts';
import { wholeRows } from '../../events/raw/decide.ts';
import { decodeRecord } from '../../events/raw/decode-record.ts';
import { anyEventJson } from '../../events/testing/arbitrary-event-json.ts';
import { sampleMessage, sampleRecord } from '../../events/testing/raw-records.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import type { AcceptedItem, EventRow } from '../../schemas/records.ts';
import { PROFILE_EVENT_FIELDS } from './profile.ts';
import { profileEvents } from './raw-events.ts';

type Type = AcceptedItem['type'];
const contexts = () => new ContextReader(new UserAgentCache(10));
const FIELDS = [...PROFILE_EVENT_FIELDS, 'message_id', '_dedupe_id'] as const;

/** What the fold reads of the only event of a body, beside the same of its whole row. */
function both(body: string, type: Type = 'track', dedupe_id: string | null = null) {
  const base = sampleRecord([{ message_id: 'm' }]);
  const items = base.items.map((item) => ({ ...item, type, dedupe_id }));
  const record = { ...base, items, body: Buffer.from(body) };
  const decoded = decodeRecord(sampleMessage(record, { offset: 9 }));
  if (decoded.state !== 'decoded') throw new Error('the body is no event');
  const item = { ...base.items[0], type, dedupe_id } as AcceptedItem;
  const position = { epoch: 1, partition: 2, offset: 9, index: 0 };
  const input = { decoded, item, position, acceptance: 5 };
  return { read: profileEvents(contexts())(input), whole: wholeRows(contexts())(input) };
}

const fieldsOf = (row: EventRow) => Object.fromEntries(FIELDS.map((field) => [field, row[field]]));

describe('what the fold reads of an event of events.raw', () => {
  it.each([
    ['no properties', '{}'],
    ['a revenue', '{"properties":{"revenue":12.5,"total":3}}'],
    ['a price and a quantity', '{"properties":{"price":5,"quantity":3,"name":"x"}}'],
    [
      'amounts that are no numbers',
      '{"properties":{"revenue":true,"total":"5","value":null,"price":2}}',
    ],
    ['an amount that is repeated', '{"properties":{"price":5,"price":"x"}}'],
    ['an amount under a key that is changed', '{"properties":{"price":5," price":7}}'],
    ['traits', '{"user_id":"u","traits":{"phone":"09121234567","plan":"gold","level":3}}'],
    ['a name that is changed', '{"event":" علي  x "}'],
  ])('is what its whole row says: %s', (_, body) => {
    for (const type of ['track', 'identify', 'page', 'alias'] as const) {
      const { read, whole } = both(body, type, type === 'page' ? 'd' : null);
      expect(read).toMatchObject(fieldsOf(whole));
    }
  });

  it('leaves the properties as bytes, except for what it must make a value of', () => {
    expect(both('{"properties":{"a":1}}').read).not.toHaveProperty('properties');
    expect(both('{"properties":{"a.b":1}}').read).toHaveProperty('properties');
  });

  it('is what its whole row says, for any event', () => {
    const type = fc.constantFrom<Type>('track', 'identify', 'page', 'screen', 'alias');
    fc.assert(
      fc.property(anyEventJson, type, (body, itemType) => {
        const { read, whole } = both(body, itemType);
        expect(fieldsOf(read as EventRow)).toEqual(fieldsOf(whole));
      }),
      { numRuns: 500 },
    );
  });
});
