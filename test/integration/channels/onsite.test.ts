import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../../contract/management/host.ts';
import { adminWithInput } from '../../support/admin-input.ts';
import { post } from '../../support/client.ts';
import {
  createAccount,
  eventually,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

const CAMPAIGN = {
  ...{ name: 'نظرسنجی', kind: 'survey', content: { title: 'چطور بود؟' }, frequency: 'once' },
  fields: [{ name: 'score', type: 'rating', required: true }],
  targeting: { url: [{ op: 'prefix', value: 'https://shop.ir/cart' }] },
};
const EVENTS = ['onsite_shown', 'onsite_dismissed', 'onsite_submitted'];

const client = openClickhouse();
let account: TestAccount;
let campaign: number;

beforeAll(async () => {
  account = await createAccount('on-site campaign');
  ({ campaign_id: campaign } = await adminWithInput<{ campaign_id: number }>(
    CAMPAIGN,
    ...['onsite', 'create', '--account', String(account.accountId)],
  ));
});

async function listed(visitor: string): Promise<number[]> {
  const query = new URLSearchParams({
    ...{ write_key: account.writeKey, url: 'https://shop.ir/cart/1', anonymous_id: visitor },
  });
  const answer = await fetch(`${readyStack().ingest_url}/v1/onsite?${query.toString()}`);
  const { campaigns } = (await answer.json()) as { campaigns: { id: number }[] };
  return campaigns.map(({ id }) => id);
}

async function send(path: string, body: object): Promise<void> {
  const url = `${readyStack().ingest_url}/v1/onsite/${path}`;
  const { status } = await post(url, account.writeKey, { campaign_id: campaign, ...body });
  expect(status).toBe(200);
}

function day(offset: number): string {
  return new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
}

describe('an on-site campaign that is seen, closed and answered', () => {
  it('is not shown again, and its interactions are events and in reports', async () => {
    await eventually({ ms: 30_000, waitingFor: 'the campaign' }, async () =>
      (await listed('a')).includes(campaign) ? true : undefined,
    );
    for (const visitor of ['a', 'b', 'c'])
      await send('event', { anonymous_id: visitor, action: 'shown' });
    await send('event', { anonymous_id: 'b', action: 'dismissed' });
    await send('response', { anonymous_id: 'a', answers: { score: 5 } });
    for (const visitor of ['a', 'b', 'c']) expect(await listed(visitor)).not.toContain(campaign);
    expect(await listed('d')).toContain(campaign);

    const found = await eventually({ ms: 60_000, waitingFor: 'five events' }, async () => {
      const stored = await rows<{ event: string; anonymous_id: string; score: string }>(
        client,
        `SELECT event, anonymous_id, properties['score'] AS score FROM events
         WHERE account_id = {id:UInt64} AND properties['campaign_id'] = {campaign:String}
         ORDER BY event, anonymous_id`,
        { id: account.accountId, campaign: String(campaign) },
      );
      return stored.length >= 5 ? stored : undefined;
    });
    expect(found).toEqual([
      { event: 'onsite_dismissed', anonymous_id: 'b', score: '' },
      ...['a', 'b', 'c'].map((anonymous_id) => ({
        ...{ event: 'onsite_shown', anonymous_id, score: '' },
      })),
      { event: 'onsite_submitted', anonymous_id: 'a', score: '5' },
    ]);

    const funnel = {
      steps: [{ event: 'onsite_shown' }, { event: 'onsite_submitted' }],
      ...{ from: day(-1), to: day(2) },
    };
    const key = account.managementKey;
    const report = await call('POST', '/v1/reports/funnel', { key, body: funnel });
    expect(report.body).toMatchObject({
      steps: [
        { event: 'onsite_shown', count: 3 },
        { event: 'onsite_submitted', count: 1 },
      ],
    });
    // A list of the schema is kept for a minute: it is asked for once they are all in it.
    await eventually({ ms: 60_000, waitingFor: 'the catalogue' }, async () => {
      const listedEvents = await rows<{ event: string }>(
        client,
        'SELECT DISTINCT event FROM event_catalogue FINAL WHERE account_id = {id:UInt64}',
        { id: account.accountId },
      );
      return listedEvents.length === EVENTS.length ? true : undefined;
    });
    const { body } = await call('GET', '/v1/schema/events', { key });
    const { events } = body as { events: { name: string }[] };
    expect(events.map(({ name }) => name).toSorted()).toEqual(EVENTS.toSorted());
  });
});
