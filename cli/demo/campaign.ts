import { delay } from '../../platform/backoff.ts';
import type { Ready } from '../stack/ready.ts';
import { print } from '../terminal.ts';
import { campaignPicture, type CampaignStats } from './campaign-picture.ts';
import { askManagement, freshReport } from './management-host.ts';
import { actOnMessages, orderWithoutMessages, readMailbox, type Mail } from './reaction.ts';

/** What is left to every fifth person: the others are compared with them. */
const CONTROL_PERCENT = 20;
const GOAL = { event: 'order_completed', window_hours: 24 };
/** How long people, messages and their stats are waited for, ms. */
const WAIT_MS = 120_000;
const PAUSE_MS = 500;
/** Stats that were the same so often, one reading after another. */
const MIN_EQUAL = 5;

interface Campaign {
  id: number;
  status: string;
  stats: CampaignStats;
}

/**
 * Sends an e-mail campaign to the people with an account at the shop, lets them open it, click and
 * order, and draws what came of it.
 * @param options.visitors numbers of those who signed in
 */
export async function demoCampaign(
  ready: Ready,
  options: { seed: number; visitors: readonly number[] },
): Promise<void> {
  const { seed, visitors } = options;
  const audience = { trait: 'demo_seed', op: 'eq', value: seed };
  await untilCounted(ready, { audience, people: visitors.length });
  const { id } = await askManagement<{ id: number }>(ready, {
    ...{ method: 'POST', path: '/v1/campaigns', role: 'marketer' },
    body: {
      ...{ name: 'پیشنهاد این هفته', channel: 'email', template_id: ready.demo.template_id },
      ...{ audience, control_percent: CONTROL_PERCENT, goal: GOAL },
      utm: { source: 'ravand', medium: 'email', name: 'weekly' },
    },
  });
  const path = `/v1/campaigns/${id}`;
  const send = { method: 'POST', path: `${path}/send`, role: 'marketer' } as const;
  await askManagement(ready, send);
  const mailbox = await untilSent(ready, { id, path });
  const reaction = { ready, seed, visitors, campaignId: id };
  await orderWithoutMessages(reaction);
  const orders = await actOnMessages(reaction, mailbox);
  const { stats } = await untilAttributed(ready, { path, orders });
  print();
  print(`a campaign by e-mail, from ${ready.base_url}${path}`);
  for (const line of campaignPicture(stats, GOAL)) print(line);
  print(`its messages: ${ready.sandbox_url}/?channel=email`);
}

/** Waits until the profiles of the people are written. */
async function untilCounted(
  ready: Ready,
  { audience, people }: { audience: object; people: number },
): Promise<void> {
  const request = { method: 'POST', path: '/v1/audiences/count', role: 'marketer' } as const;
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const { count } = await askManagement<{ count: number }>(ready, { ...request, body: audience });
    if (count >= people || Date.now() > deadline) return;
    await delay(3000);
  }
}

/** The messages that the sandbox got, by message id. It keeps only the last 1,000. */
async function untilSent(
  ready: Ready,
  { id, path }: { id: number; path: string },
): Promise<Map<string, Mail>> {
  const mailbox = new Map<string, Mail>();
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const { status } = await campaignOf(ready, path);
    for (const mail of await readMailbox(ready, id)) mailbox.set(mail.messageId, mail);
    const isSending = status === 'scheduled' || status === 'sending';
    if (!isSending || Date.now() > deadline) return mailbox;
    await delay(PAUSE_MS);
  }
}

/**
 * The campaign once its stats have all that people did. Of what they did anyway, another campaign
 * may have the merit: then the stats are done when they stay the same.
 */
async function untilAttributed(
  ready: Ready,
  { path, orders }: { path: string; orders: number },
): Promise<Campaign> {
  const sentBy = Date.now();
  const range = { from: new Date(sentBy - 3_600_000), to: new Date(sentBy + 3_600_000) };
  const steps = [{ event: 'page_viewed' }, { event: GOAL.event }];
  await freshReport(ready, { sentBy, report: 'funnel', body: { ...range, steps } });
  const deadline = Date.now() + WAIT_MS;
  let last = '';
  let equal = 0;
  for (;;) {
    const campaign = await campaignOf(ready, path);
    const { converted, uplift } = campaign.stats;
    const read = JSON.stringify(campaign.stats);
    equal = read === last ? equal + 1 : 0;
    const isDone = uplift && (converted >= orders || equal >= MIN_EQUAL);
    if (isDone || Date.now() > deadline) return campaign;
    last = read;
    await delay(2 * PAUSE_MS);
  }
}

function campaignOf(ready: Ready, path: string): Promise<Campaign> {
  return askManagement(ready, { method: 'GET', path, role: 'marketer' });
}
