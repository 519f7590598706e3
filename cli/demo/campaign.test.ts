import { stripVTControlCharacters } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { closeAll, receiver } from '../../platform/outbound/receivers.ts';
import type { Ready } from '../stack/ready.ts';
import { demoCampaign } from './campaign.ts';

afterEach(() => {
  closeAll();
  vi.restoreAllMocks();
});

const VISITORS = Array.from({ length: 100 }, (_, at) => at);
const isWithheld = (visitor: number) => visitor % 5 === 0;
const message = (visitor: number) => `c7.1.${visitor}`;

interface Item {
  event: string;
  user_id: string;
  context?: { campaign: { message_id: string } };
}

/** Stands for all hosts of a stack, which send a campaign to everybody who is not withheld. */
async function stack() {
  const seen = { counts: 0, asked: [] as unknown[], items: [] as Item[], pixels: [] as string[] };
  const sent = VISITORS.filter((visitor) => !isWithheld(visitor));
  const converted = () => {
    const buyers = seen.items.filter(({ event }) => event === 'order_completed');
    return new Set(buyers.map(({ user_id }) => user_id));
  };
  const uplift = { treated_rate: 0.4, control_rate: 0.1, difference: 0.3, low: 0.1, high: 0.4 };
  const stats = () => ({
    ...{ planned: 100, sent: sent.length, failed: 0, withheld: 20, skipped: 0, in_flight: 0 },
    ...{ skipped_by_reason: {}, failed_by_reason: {}, opened: seen.pixels.length, clicked: 1 },
    converted: sent.filter((visitor) => converted().has(`user-3-${visitor}`)).length,
    uplift: { ...uplift, significant: true },
  });
  const mails = (origin: string) =>
    sent.map((visitor) => ({
      to: `user-3-${visitor}@example.com`,
      html: `<a href="https://shop.example/?a=1&amp;sg_mid=${message(visitor)}">x</a><img src="${origin}/e/o/${visitor}" />`,
    }));
  const other = { to: 'x@example.com', html: '<a href="https://a.example/?sg_mid=c6.1.1">x</a>' };
  const { port } = await receiver(({ url, method, body }, response) => {
    const origin = `http://127.0.0.1:${port}`;
    const answer = (json: object) => response.end(JSON.stringify(json));
    if (url === '/v1/audiences/count') answer({ count: seen.counts++ === 0 ? 99 : 100 });
    else if (url === '/v1/campaigns') {
      seen.asked.push(JSON.parse(body));
      answer({ id: 7 });
    } else if (url.endsWith('/send')) {
      seen.asked.push(method);
      answer({ run_id: 1 });
    } else if (url === '/v1/campaigns/7') answer({ id: 7, status: 'sent', stats: stats() });
    else if (url === '/v1/reports/funnel')
      answer({ meta: { fresh_until: '2999-01-01T00:00:00Z' } });
    else if (url.startsWith('/messages')) answer({ messages: [other, ...mails(origin)] });
    else if (url.startsWith('/e/o/')) {
      seen.pixels.push(url);
      response.end();
    } else {
      seen.items.push(...(JSON.parse(body) as { batch: Item[] }).batch);
      answer({ accepted: 1 });
    }
  });
  const url = `http://127.0.0.1:${port}`;
  const management_keys = { marketer: 'm', analyst: 'a' };
  const demo = { write_key: 'w', template_id: 5, management_keys };
  const ready = { ingest_url: url, base_url: url, sandbox_url: url, demo };
  return { ready: ready as unknown as Ready, seen };
}

it('the demo campaign is sent to those who signed in, who open it, click and order', async () => {
  const { ready, seen } = await stack();
  let printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += stripVTControlCharacters(String(text));
    return true;
  });
  await demoCampaign(ready, { seed: 3, visitors: VISITORS });
  expect(seen.counts).toBe(2);
  expect(seen.asked).toMatchObject([
    {
      ...{ channel: 'email', template_id: 5, control_percent: 20 },
      ...{ audience: { trait: 'demo_seed', op: 'eq', value: 3 } },
      goal: { event: 'order_completed', window_hours: 24 },
    },
    'POST',
  ]);
  const visitorOf = (userId: string) => Number(userId.split('-')[2]);
  const clicks = seen.items.filter(({ event }) => event === 'message_clicked');
  for (const { user_id, context } of clicks)
    expect(context?.campaign.message_id).toBe(message(visitorOf(user_id)));
  const orders = seen.items.filter(({ event }) => event === 'order_completed');
  const share = (isOf: (visitor: number) => boolean) => {
    const people = VISITORS.filter(isOf);
    const buyers = new Set(orders.map(({ user_id }) => visitorOf(user_id)));
    return people.filter((visitor) => buyers.has(visitor)).length / people.length;
  };
  expect(share((visitor) => !isWithheld(visitor))).toBeGreaterThan(share(isWithheld) + 0.1);
  expect(seen.pixels.length).toBeGreaterThan(clicks.length);
  expect(clicks.length).toBeGreaterThan(20);
  expect(printed).toContain(`a campaign by e-mail, from ${ready.base_url}/v1/campaigns/7`);
  expect(printed).toMatch(/^planned +█+ +100 100\.0%$/m);
  expect(printed).toContain('+30.0 points, from +10.0 to +40.0: significant');
});
