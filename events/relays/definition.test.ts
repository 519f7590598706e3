import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson } from '../testing/arbitrary-json.ts';
import { parseRelay } from './definition.ts';
import { OPERATORS } from './filter.ts';

const RELAY = {
  name: 'Orders',
  url: 'https://example.com/in',
  events: ['order_completed'],
  filters: [],
  enabled: true,
  secret: 's',
};

describe('a valid relay (ingest 4.9)', () => {
  test('is read as it is stored', () => {
    const filters = [
      { prop: 'order id', op: 'eq', value: 'x' },
      { prop: 'total', op: 'gt', value: 10 },
      { prop: 'paid', op: 'ne', value: false },
      { prop: 'coupon', op: 'missing', value: 'not kept' },
    ];
    expect(
      parseRelay({ ...RELAY, name: ' Orders ', events: ['خريد', ' خرید', 'a'], filters }),
    ).toEqual({
      ok: true,
      relay: {
        name: 'Orders',
        url: 'https://example.com/in',
        events: ['خرید', 'a'],
        filters: [
          { prop: 'order_id', op: 'eq', value: 'x' },
          { prop: 'total', op: 'gt', value: 10 },
          { prop: 'paid', op: 'ne', value: false },
          { prop: 'coupon', op: 'missing' },
        ],
        enabled: true,
        secret: 's',
      },
    });
  });

  test('needs only a name and a URL, which may be unreadable', () => {
    const relay = {
      name: 'a',
      url: 'not a url',
      events: [],
      filters: [],
      enabled: true,
      secret: '',
    };
    expect(parseRelay({ name: 'a', url: 'not a url' })).toEqual({ ok: true, relay });
    expect(parseRelay({ ...relay, id: 7, enabled: false })).toEqual({
      ok: true,
      relay: { ...relay, id: 7, enabled: false },
    });
  });

  test.each(OPERATORS)('may use the operator %s', (op) => {
    expect(parseRelay({ ...RELAY, filters: [{ prop: 'a', op, value: 1 }] }).ok).toBe(true);
  });

  test('may have eight filters', () => {
    expect(
      parseRelay({
        ...RELAY,
        filters: Array.from({ length: 8 }, () => ({ prop: 'a', op: 'exists' })),
      }).ok,
    ).toBe(true);
  });
});

describe('an invalid relay', () => {
  const filter = (value: unknown) => ({ ...RELAY, filters: [value] });
  test.each<[string, unknown, string]>([
    ['empty name', { ...RELAY, name: ' ' }, 'name must not be empty'],
    ['no name', { url: 'x' }, 'name must not be empty'],
    ['a name that is no text', { ...RELAY, name: 7 }, 'name must be text'],
    ['empty url', { ...RELAY, url: '' }, 'url must not be empty'],
    ['no url', { name: 'x' }, 'url must not be empty'],
    [
      'a url with a line break',
      { ...RELAY, url: 'https://a\nb' },
      'url must not hold control characters',
    ],
    [
      'empty event name',
      { ...RELAY, events: ['a', '\u200d '] },
      'events[1] must not be empty; leave the list empty for every event',
    ],
    ['an event that is no text', { ...RELAY, events: [null] }, 'events[0] must be text'],
    [
      'a long event name',
      { ...RELAY, events: ['x'.repeat(129)] },
      'events[0] is longer than 128 bytes: no event has such a name',
    ],
    [
      'events that are no list',
      { ...RELAY, events: 'a' },
      'events must be a list of event names; an empty list means every event',
    ],
    [
      'unknown operator',
      filter({ prop: 'a', op: 'like', value: 'b' }),
      'filters[0].op is "like"; the operators are eq, ne, contains, prefix, gt, gte, lt, lte, exists, missing',
    ],
    [
      'no operator',
      filter({ prop: 'a', value: 'b' }),
      'filters[0].op is no text; the operators are eq, ne, contains, prefix, gt, gte, lt, lte, exists, missing',
    ],
    [
      'a name that objects inherit as operator',
      filter({ prop: 'a', op: 'toString' }),
      expect.stringContaining('filters[0].op is "toString"') as string,
    ],
    ['no property', filter({ op: 'exists' }), 'filters[0].prop must be text'],
    [
      'an empty property',
      filter({ prop: ' . ', op: 'exists' }),
      'filters[0].prop must not be empty',
    ],
    [
      'a value of a wrong type',
      filter({ prop: 'a', op: 'eq', value: ['x'] }),
      'filters[0].value must be text, a number, true or false',
    ],
    [
      'no value',
      filter({ prop: 'a', op: 'gt' }),
      'filters[0].value must be text, a number, true or false',
    ],
    ['a filter that is none', filter('a = b'), 'filters[0] must be an object {prop, op, value}'],
    [
      'filters that are no list',
      { ...RELAY, filters: {} },
      'filters must be a list of {prop, op, value}',
    ],
    [
      'nine filters',
      { ...RELAY, filters: Array.from({ length: 9 }, () => ({ prop: 'a', op: 'exists' })) },
      'a relay has at most 8 filters; these are 9',
    ],
    ['enabled as text', { ...RELAY, enabled: 'yes' }, 'enabled must be true or false'],
    [
      'a secret that is no text',
      { ...RELAY, secret: 7 },
      'secret must be text; leave it empty to keep the stored one',
    ],
    [
      'an id that is none',
      { ...RELAY, id: '7' },
      'id must be the number of a relay, or be left out',
    ],
    [
      'no object',
      [],
      'the body must be a JSON object with name, url, events, filters, enabled and secret',
    ],
  ])('is refused with a sentence: %s', (_, body, message) => {
    expect(parseRelay(body)).toEqual({ ok: false, message });
  });

  test('is refused without an exception, whatever the body is', () => {
    const field = fc.oneof(anyJson, fc.constant(undefined));
    const body = fc.oneof(
      anyJson,
      fc.record({
        name: field,
        url: field,
        events: field,
        filters: field,
        enabled: field,
        secret: field,
        id: field,
      }),
    );
    fc.assert(
      fc.property(body, (value) => {
        const parsed = parseRelay(value);
        if (parsed.ok) expect(parseRelay(parsed.relay)).toEqual(parsed);
        else expect(parsed.message).not.toBe('');
      }),
    );
  });
});
