import { Analytics } from '@segment/analytics-node';
import { describe, expect, it } from 'vitest';
import { eventually, readyStack, rows } from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import {
  bareAccount,
  countersAfter,
  createConnection,
  type TestConnection,
} from '../../support/webhooks/connection.ts';

/**
 * The pipeline's own client, pointed at the route: it sends `Authorization: Basic
 * base64(writeKey:)`, so that header is the secret of its connection.
 */
function clientOf(connection: TestConnection, writeKey: string): Analytics {
  return new Analytics({
    writeKey,
    host: readyStack().ingest_url,
    path: `/v1/hooks/event_pipeline/${connection.token}`,
    maxRetries: 0,
  });
}

const WRITE_KEY = 'pipeline-write-key';
const SECRET = `Basic ${Buffer.from(`${WRITE_KEY}:`).toString('base64')}`;

const warehouse = openClickhouse();

describe('@segment/analytics-node', () => {
  it.each([
    ['the header that it sends is the secret', SECRET],
    ['no secret is stored', undefined],
  ])('delivers when %s', async (_, secret) => {
    const accountId = await bareAccount();
    const connection = await createConnection({ accountId, source: 'event_pipeline', secret });
    const analytics = clientOf(connection, WRITE_KEY);
    const errors: unknown[] = [];
    analytics.on('error', (error) => errors.push(error));
    const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 60_000);
    analytics.identify({
      userId: 'u-1',
      traits: { email: 'Sara@Example.ir', phone: '09121234567', plan: 'gold' },
      timestamp: at,
    });
    analytics.track({
      userId: 'u-1',
      event: 'Order Completed',
      messageId: 'order-1',
      properties: { total: 125.5, currency: 'usd' },
      timestamp: at,
    });
    analytics.track({
      userId: 'u-1',
      event: 'Order Completed',
      messageId: 'order-1',
      properties: { total: 125.5, currency: 'usd' },
      timestamp: at,
    });
    analytics.page({
      anonymousId: 'a-1',
      name: 'Home',
      properties: { url: 'https://shop.example.ir/', path: '/', title: 'فروشگاه' },
      timestamp: at,
    });
    analytics.page({ anonymousId: 'a-1', timestamp: at });
    analytics.screen({ userId: 'u-1', name: 'Cart', timestamp: at });
    analytics.group({ userId: 'u-1', groupId: 'g' });
    analytics.alias({ userId: 'u-1', previousId: 'a-1' });
    await analytics.closeAndFlush({ timeout: 10_000 });
    expect(errors).toEqual([]);
    const found = await eventually(
      { ms: 60_000, waitingFor: 'the events of the pipeline' },
      async () => {
        const stored = await rows<Record<string, unknown>>(
          warehouse,
          `SELECT type, event, user_id, anonymous_id, message_id, toUnixTimestamp64Milli(timestamp) AS timestamp, revenue, currency, source, page_url, page_title, library_name
         FROM events WHERE account_id = {id:UInt64} ORDER BY type, event`,
          { id: accountId },
        );
        return stored.length >= 5 ? stored : undefined;
      },
    );
    const common = {
      source: 'webhook',
      timestamp: at.getTime(),
      library_name: '@segment/analytics-node',
    };
    expect(found).toEqual([
      expect.objectContaining({ ...common, type: 'identify', event: 'identify', user_id: 'u-1' }),
      expect.objectContaining({
        ...common,
        type: 'page',
        event: 'Home',
        anonymous_id: 'a-1',
        page_url: 'https://shop.example.ir/',
        page_title: 'فروشگاه',
      }),
      expect.objectContaining({ ...common, type: 'page', event: 'page', anonymous_id: 'a-1' }),
      expect.objectContaining({ ...common, type: 'screen', event: 'Cart', user_id: 'u-1' }),
      expect.objectContaining({
        ...common,
        type: 'track',
        event: 'Order Completed',
        message_id: 'order-1',
        revenue: 125.5,
        currency: 'USD',
      }),
    ]);
    const [person] = await eventually({ ms: 60_000, waitingFor: 'the profile' }, async () => {
      const people = await rows<Record<string, unknown>>(
        warehouse,
        "SELECT email, phone, traits, toFloat64(total_revenue) AS total_revenue FROM people WHERE account_id = {id:UInt64} AND person = 'u-1'",
        { id: accountId },
      );
      return people[0]?.['total_revenue'] === 125.5 ? people : undefined;
    });
    expect(person).toMatchObject({
      email: 'sara@example.ir',
      phone: '+989121234567',
      traits: { plan: 'gold', phone_operator: 'mci' },
    });
    expect((await countersAfter(connection, 1)).last_error).toBe('');
  });

  it('gets an error when its write key is wrong', async () => {
    const connection = await createConnection({
      accountId: await bareAccount(),
      source: 'event_pipeline',
      secret: SECRET,
    });
    const analytics = clientOf(connection, 'another-key');
    const errors: unknown[] = [];
    analytics.on('error', (error) => errors.push(error));
    analytics.track({ userId: 'u', event: 'x' });
    await analytics.closeAndFlush({ timeout: 10_000 });
    expect(errors).toHaveLength(1);
    expect(await countersAfter(connection, 1)).toMatchObject({
      accepted: 0,
      rejected: 1,
      last_error: 'unauthorized',
    });
  });
});
