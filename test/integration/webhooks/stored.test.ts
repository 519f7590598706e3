import { describe, expect, it } from 'vitest';
import type { EventRow } from '../../../schemas/records.ts';
import { eventually, readyStack, rows } from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import {
  bareAccount,
  createConnection,
  hostedHeaders,
  pluginHeaders,
  type TestConnection,
} from '../../support/webhooks/connection.ts';
import {
  cancelledOrder,
  checkout,
  customer,
  deliveryText,
  order,
  ORDER_TOTAL,
} from '../../support/webhooks/hosted-payloads.ts';
import { pluginOrder } from '../../support/webhooks/plugin-payloads.ts';
import { rawOf, watchTopic } from '../gateway/raw-log.ts';

const SECRET = 'whsec-of-the-shop';
const HOUR = 3_600_000;
// Whole seconds: platforms report no finer time.
const now = Math.floor(Date.now() / 1000) * 1000;
const ordered = new Date(now - 5 * HOUR);
const cancelled = new Date(now - 2 * HOUR);

type Row = Pick<
  EventRow,
  | ('event' | 'type' | 'user_id' | 'message_id' | 'timestamp' | 'properties' | 'property_numbers')
  | ('revenue' | 'currency' | 'source' | 'ip' | 'user_agent')
>;

const client = openClickhouse();

async function deliver(
  connection: TestConnection,
  body: string,
  headers: Record<string, string>,
): Promise<unknown> {
  const answer = await fetch(
    `${readyStack().ingest_url}/v1/hooks/${connection.source}/${connection.token}`,
    { method: 'POST', body, headers },
  );
  expect(answer.status).toBe(200);
  return answer.json();
}

/** The stored events of an account once there are `count`, by time. */
async function stored(accountId: number, count: number): Promise<Row[]> {
  return eventually(
    { ms: 60_000, waitingFor: `${count} stored events of account ${accountId}` },
    async () => {
      const found = await rows<Row>(
        client,
        `SELECT event, type, user_id, message_id, toUnixTimestamp64Milli(timestamp) AS timestamp, properties, property_numbers, revenue, currency, source, ip, user_agent
       FROM events WHERE account_id = {id:UInt64} ORDER BY events.timestamp, event`,
        { id: accountId },
      );
      return found.length >= count ? found : undefined;
    },
  );
}

interface Person {
  total_revenue: number;
  order_count: number;
  email: string;
  phone: string;
  first_name: string;
  city: string;
  email_opt_in: string;
  traits: Record<string, string>;
}

async function person(
  accountId: number,
  name: string,
  isDone: (person: Person) => boolean,
): Promise<Person> {
  return eventually({ ms: 60_000, waitingFor: `the profile of ${name}` }, async () => {
    const [found] = await rows<Person>(
      client,
      `SELECT toFloat64(total_revenue) AS total_revenue, order_count, email, phone, first_name, city, email_opt_in, traits
       FROM people WHERE account_id = {id:UInt64} AND person = {name:String}`,
      { id: accountId, name },
    );
    return found && isDone(found) ? found : undefined;
  });
}

describe('a store on the hosted storefront', () => {
  it('has its checkout, order, cancellation and customer stored once each, however often they are delivered, and a correct profile', async () => {
    const accountId = await bareAccount();
    const connection = await createConnection({
      accountId,
      source: 'hosted_storefront',
      secret: SECRET,
    });
    const deliveries: [string, string][] = [
      ['customers/create', deliveryText(customer(ordered))],
      [
        'checkouts/create',
        deliveryText(
          checkout(new Date(ordered.getTime() - HOUR), {
            email: 'narges@example.ir',
            total_price: '0.00',
          }),
        ),
      ],
      ['orders/create', deliveryText(order(ordered))],
      ['orders/paid', deliveryText(order(ordered, { financial_status: 'paid' }))],
    ];
    const answers = [];
    for (let round = 0; round < 2; round++)
      for (const [topic, body] of deliveries)
        answers.push(await deliver(connection, body, hostedHeaders(topic, body, SECRET)));
    const [accepted, held] = [{ status: 'ok', accepted: 1 }, { status: 'ok' }];
    expect(answers).toEqual([accepted, accepted, accepted, held, held, held, held, held]);
    const bought = await person(
      accountId,
      'narges@example.ir',
      ({ order_count }) => order_count === 1,
    );
    expect(bought).toMatchObject({
      total_revenue: ORDER_TOTAL,
      order_count: 1,
      email: 'narges@example.ir',
      phone: '+989121234567',
      first_name: 'نرگس',
      city: 'تهران',
      email_opt_in: 'true',
      traits: { phone_operator: 'mci' },
    });

    const body = deliveryText(cancelledOrder(ordered, cancelled));
    expect(
      await deliver(connection, body, hostedHeaders('orders/cancelled', body, SECRET)),
    ).toEqual(accepted);
    const [checkedOut, identified, completed, took] = await stored(accountId, 4);
    expect(checkedOut).toMatchObject({
      event: 'checkout_started',
      timestamp: ordered.getTime() - HOUR,
      revenue: 0,
      properties: {
        checkout_url:
          'https://shop.example.ir/548380009/checkouts/123123123/recover?key=example-secret-token',
        item_count: '2',
      },
    });
    expect(identified).toMatchObject({
      type: 'identify',
      event: 'identify',
      message_id: 'hosted_storefront:identify:706405506930370084',
      properties: {},
    });
    expect(completed).toEqual({
      type: 'track',
      event: 'order_completed',
      user_id: 'narges@example.ir',
      message_id: 'hosted_storefront:order_completed:820982911946154508',
      timestamp: ordered.getTime(),
      properties: {
        order_id: '820982911946154508',
        order_number: '1234',
        source: 'hosted_storefront',
        product_id: 'KAFSH-42',
        product_name: 'کفش ورزشی',
        item_count: '2',
        product_ids: 'KAFSH-42,JOORAB-7',
        revenue: String(ORDER_TOTAL),
        currency: 'IRR',
      },
      property_numbers: { revenue: ORDER_TOTAL },
      revenue: ORDER_TOTAL,
      currency: 'IRR',
      source: 'webhook',
      ip: '',
      user_agent: '',
    });
    expect(took).toMatchObject({
      event: 'order_cancelled',
      timestamp: cancelled.getTime(),
      revenue: ORDER_TOTAL,
    });
    expect(await stored(accountId, 4)).toHaveLength(4);
    await person(
      accountId,
      'narges@example.ir',
      ({ total_revenue, order_count }) => total_revenue === 0 && order_count === 0,
    );
  });
});

describe('a store with the storefront plugin', () => {
  it('has one event for each relevant status of an order', async () => {
    const accountId = await bareAccount();
    const connection = await createConnection({
      accountId,
      source: 'plugin_storefront',
      secret: SECRET,
    });
    for (const [topic, status] of [
      ['order.created', 'pending'],
      ['order.updated', 'processing'],
      ['order.updated', 'processing'],
      ['order.updated', 'completed'],
      ['order.updated', 'refunded'],
      ['order.updated', 'trash'],
    ] as const) {
      const body = JSON.stringify(pluginOrder(ordered, { status }));
      await deliver(connection, body, pluginHeaders(topic, body, SECRET));
    }
    const found = await stored(accountId, 4);
    expect(found.map(({ event, message_id }) => [event, message_id]).sort()).toEqual([
      ['checkout_started', 'plugin_storefront:checkout_started:727:pending'],
      ['order_completed', 'plugin_storefront:order_completed:727:completed'],
      ['order_completed', 'plugin_storefront:order_completed:727:processing'],
      ['order_refunded', 'plugin_storefront:order_refunded:727:refunded'],
    ]);
    for (const row of found)
      // Its GMT time is read as one without zone, so as Tehran's (ingest 4.6).
      expect(row).toMatchObject({
        user_id: 'ali.mohammadi@example.ir',
        timestamp: ordered.getTime() - 3.5 * HOUR,
        revenue: 1_250_000,
        currency: 'IRT',
        source: 'webhook',
      });
  });
});

describe('events without a message id', () => {
  it('are all stored, without a message id', async () => {
    const accountId = await bareAccount();
    const connection = await createConnection({
      accountId,
      source: 'plugin_storefront',
      secret: SECRET,
    });
    const body = JSON.stringify(pluginOrder(ordered, { id: 0 }));
    for (let time = 0; time < 2; time++)
      await deliver(connection, body, pluginHeaders('order.created', body, SECRET));
    expect((await stored(accountId, 2)).map(({ message_id }) => message_id)).toEqual(['', '']);
  });
});

describe('the raw log', () => {
  it('keeps the bytes of a delivery beside its events, and its path without the token', async () => {
    const accountId = await bareAccount();
    const connection = await createConnection({
      accountId,
      source: 'hosted_storefront',
      secret: SECRET,
    });
    const body = deliveryText(order(ordered)).replaceAll(',', ' ,\n');
    const appended = await watchTopic('events.raw');
    await deliver(connection, body, hostedHeaders('orders/create', body, SECRET));
    const records = rawOf(await appended(), accountId).map(({ record }) => record);
    expect(records).toHaveLength(1);
    const [record] = records;
    expect(record).toMatchObject({
      source: 'webhook',
      path: '/v1/hooks/hosted_storefront',
      write_key_id: 0,
      shape: 'batch',
    });
    expect(record?.delivery).toMatchObject({ source: 'hosted_storefront', topic: 'orders/create' });
    expect(record?.delivery?.body.toString()).toBe(body);
    expect(JSON.parse(record?.body.toString() ?? '')).toMatchObject({
      batch: [{ event: 'order_completed' }],
    });
    expect(JSON.stringify(record)).not.toContain(connection.token);
  });
});
