import { beforeAll, describe, expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import {
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

type Row = Record<string, unknown>;

interface Case {
  name: string;
  traits: Record<string, unknown>;
  stored: Row;
  warnings?: string[];
}

/** Special traits (2.3): what is sent, and what the profile holds. */
const CASES: Case[] = [
  {
    name: 'email',
    traits: { email: '  Sara@Example.COM ' },
    stored: { email: 'sara@example.com', traits: {} },
  },
  {
    name: 'email is not checked',
    traits: { email: 'NOT an email' },
    stored: { email: 'not an email' },
  },
  {
    name: 'phone in Persian digits',
    traits: { phone: '۰۹۱۲ ۳۴۵ ۶۷۸۹' },
    stored: { phone: '+989123456789', traits: { phone_operator: 'mci' } },
  },
  {
    name: 'phone with its country',
    traits: { phone: '0098 935 123 45 67' },
    stored: { phone: '+989351234567', traits: { phone_operator: 'irancell' } },
  },
  {
    name: 'phone that is none',
    traits: { phone: ' 021-1234 ' },
    stored: { phone: ' 021-1234 ', traits: {} },
    warnings: ['invalid_phone'],
  },
  {
    name: 'national id',
    traits: { national_id: ' ۰۴۹۹۳۷۰۸۹۹ ' },
    stored: { national_id: '0499370899' },
  },
  {
    name: 'national id with dashes stays as sent',
    traits: { national_id: '049-937089-9' },
    stored: { national_id: '049-937089-9' },
  },
  {
    name: 'national id with a wrong digit',
    traits: { national_id: '0499370898' },
    stored: { national_id: '' },
    warnings: ['invalid_national_id'],
  },
  { name: 'gender, Persian', traits: { gender: 'مرد' }, stored: { gender: 'male' } },
  { name: 'gender, short', traits: { gender: 'F' }, stored: { gender: 'female' } },
  { name: 'gender, else', traits: { gender: 'x' }, stored: { gender: 'other' } },
  {
    name: 'columns are no traits',
    traits: {
      first_name: 'علي',
      last_name: 'b',
      birthday: '1370-01-01',
      city: 'تهران',
      push_opt_in: true,
      language: 'fa',
    },
    stored: {
      first_name: 'علی',
      last_name: 'b',
      birthday: '1370-01-01',
      city: 'تهران',
      push_opt_in: 'true',
      language: 'fa',
      traits: {},
      trait_numbers: {},
    },
  },
  {
    name: 'numbers and booleans twice, texts once',
    traits: { points: 12.5, loyal: true, tier: 'طلايي', 'a.b': null, list: [1] },
    stored: {
      traits: { points: '12.5', loyal: 'true', tier: 'طلایی', list: '[1]' },
      trait_numbers: { points: 12.5, loyal: 1 },
    },
  },
];

const client = openClickhouse();
let account: TestAccount;
let people: Map<string, Row>;

beforeAll(async () => {
  account = await createAccount('stored profiles');
  for (const [at, { name, traits, warnings = [] }] of CASES.entries()) {
    const answer = await post(`${readyStack().ingest_url}/v1/identify`, account.writeKey, {
      user_id: `case-${at}`,
      message_id: `p-${at}`,
      traits,
    });
    const reported = (answer.body as { warnings?: { code: string }[] }).warnings ?? [];
    expect([answer.status, reported.map(({ code }) => code)], name).toEqual([200, warnings]);
  }
  people = await eventually({ ms: 60_000, waitingFor: 'the profiles' }, async () => {
    const found = await rows<Row>(client, 'SELECT * FROM people WHERE account_id = {id:UInt64}', {
      id: account.accountId,
    });
    return found.length >= CASES.length
      ? new Map(found.map((row) => [String(row['person']), row]))
      : undefined;
  });
});

describe('the profile after an identify (ingest 2.3)', () => {
  it.each(CASES.map((one, at) => ({ ...one, at })))(
    'has the columns and maps of the specification: $name',
    ({ at, stored }) => expect(people.get(`case-${at}`)).toMatchObject(stored),
  );

  it('does not store traits that are left out', () => {
    for (const [at, { stored }] of CASES.entries())
      if (stored['traits']) expect(people.get(`case-${at}`)?.['traits']).toEqual(stored['traits']);
  });
});

it('revenue accrues by the event name', async () => {
  const track = async (event: string, properties: object) => {
    const answer = await post(`${readyStack().ingest_url}/v1/track`, account.writeKey, {
      event,
      user_id: 'buyer',
      properties,
    });
    expect(answer.status).toBe(200);
  };
  await track('order_completed', { revenue: 100.5 });
  await track('order_completed', { total: 50 });
  await track('order_refunded', { revenue: 20 });
  await track('tip', { price: 2, quantity: 3 });
  const [buyer] = await eventually(
    { ms: 60_000, waitingFor: 'the sums of the buyer' },
    async () => {
      const found = await rows<{ total_revenue: number; order_count: number }>(
        ...[
          client,
          "SELECT total_revenue, order_count FROM people WHERE account_id = {id:UInt64} AND person = 'buyer'",
          { id: account.accountId },
        ],
      );
      return Number(found[0]?.total_revenue) === 136.5 ? found : undefined;
    },
  );
  expect(buyer?.order_count).toBe(1);
});
