import { describe, expect, it } from 'vitest';
import { MAX_VARIABLES, readMessageRequest } from './read-request.ts';

const VALID = {
  ...{ user_id: 'u', template_id: 5, idempotency_key: 'order-1234', channel: 'sms' },
};
const read = (body: unknown, header?: string) =>
  readMessageRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), header);
const textOf = (body: unknown, header?: string): string => {
  try {
    return JSON.stringify(read(body, header));
  } catch (error) {
    return (error as Error).message;
  }
};
const without = (name: keyof typeof VALID) => ({ ...VALID, [name]: undefined });
const variables = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`v${at}`, at]));
const KEY_FORM =
  'transactional: idempotency_key must be 8–200 characters of letters, digits, dot, dash, underscore or colon';

describe('a request for a message', () => {
  it('is of the category transactional unless it says service', () => {
    expect(read({ ...VALID, vars: { code: 7 } })).toEqual({
      ...{ userId: 'u', templateId: 5, idempotencyKey: 'order-1234', channel: 'sms' },
      ...{ category: 'transactional', vars: { code: 7 } },
    });
    expect(read({ ...VALID, category: 'service', vars: null })).toMatchObject({
      ...{ category: 'service', vars: {} },
    });
  });

  it('has its key in the body, or in the header', () => {
    const body = without('idempotency_key');
    expect(read(body, 'from-header').idempotencyKey).toBe('from-header');
    expect(read(VALID, 'from-header').idempotencyKey).toBe('order-1234');
    expect(read({ ...body, idempotency_key: '' }, 'from-header').idempotencyKey).toBe(
      'from-header',
    );
    expect(textOf(body, 'short')).toBe(KEY_FORM);
  });

  it.each<[object, string]>([
    [without('user_id'), 'transactional: user_id is required'],
    [{ ...VALID, user_id: '' }, 'transactional: user_id is required'],
    [without('template_id'), 'transactional: template_id is required'],
    [{ ...VALID, template_id: 0 }, 'transactional: template_id is required'],
    [without('idempotency_key'), 'transactional: idempotency_key is required'],
    [{ ...VALID, idempotency_key: '1234567' }, KEY_FORM],
    [{ ...VALID, idempotency_key: 'x'.repeat(201) }, KEY_FORM],
    [{ ...VALID, idempotency_key: 'order 1234' }, KEY_FORM],
    [{ ...VALID, idempotency_key: 'سفارش-1234' }, KEY_FORM],
    [{ ...VALID, idempotency_key: 'order-1234\n' }, KEY_FORM],
    [without('channel'), 'transactional: unknown channel'],
    [{ ...VALID, channel: 'fax' }, 'transactional: unknown channel'],
    [{ ...VALID, channel: 'SMS' }, 'transactional: unknown channel'],
    [
      { ...VALID, category: 'marketing' },
      'transactional: this endpoint does not send marketing; use a campaign',
    ],
    [{ ...VALID, vars: variables(MAX_VARIABLES + 1) }, 'transactional: too many variables'],
    [{ ...VALID, subject: 'x' }, 'malformed JSON: unknown field "subject"'],
    [{ ...VALID, toString: 1 }, 'malformed JSON: unknown field "toString"'],
    [{ ...VALID, user_id: 5 }, 'malformed JSON: user_id is not a string'],
    [{ ...VALID, template_id: '5' }, 'malformed JSON: template_id is not a positive integer'],
    [{ ...VALID, template_id: 1.5 }, 'malformed JSON: template_id is not a positive integer'],
    [{ ...VALID, template_id: -1 }, 'malformed JSON: template_id is not a positive integer'],
    [{ ...VALID, vars: [] }, 'malformed JSON: vars is not an object'],
    [{ ...VALID, category: 'x' }, 'malformed JSON: category is neither transactional nor service'],
    [[], 'malformed JSON: the body is not an object'],
  ])('is refused: %j', (body, message) => expect(textOf(body)).toBe(message));

  it.each(['', '{', 'null', '"x"', '{"user_id":}'])('is malformed: %s', (body) =>
    expect(textOf(body)).toMatch(/^malformed JSON: ./),
  );

  it('breaks the first rule of several in the order of the specification', () => {
    const wrong: Record<string, unknown> = {
      ...{ user_id: '', template_id: 0, idempotency_key: '', channel: 'fax' },
      ...{ category: 'marketing', vars: variables(41) },
    };
    const rules = Object.keys(wrong).map((name) => {
      const message = textOf(wrong);
      wrong[name] = { ...VALID, category: 'service', vars: {} }[name];
      return message;
    });
    expect(rules).toEqual([
      ...['transactional: user_id is required', 'transactional: template_id is required'],
      ...['transactional: idempotency_key is required', 'transactional: unknown channel'],
      'transactional: this endpoint does not send marketing; use a campaign',
      'transactional: too many variables',
    ]);
    expect(textOf(wrong)).toContain('"userId":"u"');
  });

  it('may have forty variables, but not variables without end', () => {
    expect(Object.keys(read({ ...VALID, vars: variables(40) }).vars)).toHaveLength(40);
    const deep = `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`;
    expect(textOf(`{"vars":${deep}}`)).toBe('malformed JSON: it holds too many values');
    const wide = JSON.stringify(Array.from({ length: 20_000 }, () => 1));
    expect(textOf(`{"vars":{"a":${wide}}}`)).toBe('malformed JSON: it holds too many values');
  });
});
