import type { Ready } from '../stack/ready.ts';
import {
  orderedBatches,
  sendOrderedBatches,
  type OrderedItem,
} from '../traffic/ordered-batches.ts';
import { postBatch } from '../traffic/post.ts';
import { seededRandom } from './random.ts';
import { userIdOf } from './shop.ts';

/** An e-mail as a person finds it. */
export interface Mail {
  messageId: string;
  userId: string;
  pixel: string | undefined;
}

/** Who acts, and after which campaign. */
interface Reaction {
  ready: Ready;
  seed: number;
  visitors: readonly number[];
  campaignId: number;
}

/** Shares of people: who orders anyway, and of each step that a message leads to. */
const ORDERS_ANYWAY = 0.08;
const OPENS = 0.75;
const CLICKS = 0.6;
const ORDERS = 0.6;
const PRICE = 2_450_000;
const PHONE =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36';
const PARALLEL = 8;
const BATCH_ITEMS = 50;

interface Listed {
  html: string;
  to: string;
}

/** The campaign's e-mails that the sandbox has. */
export async function readMailbox(ready: Ready, campaignId: number): Promise<Mail[]> {
  const answer = await fetch(`${ready.sandbox_url}/messages?channel=email&limit=1000`);
  const { messages } = (await answer.json()) as { messages: Listed[] };
  return messages.flatMap(({ html, to }): Mail[] => {
    const [, messageId = ''] = /[?&;]sg_mid=([\w.-]+)/.exec(html) ?? [];
    const [, pixel] = /src="(http[^"]*\/e\/o\/[^"]+)"/.exec(html) ?? [];
    const [userId = ''] = to.split('@');
    return messageId.startsWith(`c${campaignId}.`) ? [{ messageId, userId, pixel }] : [];
  });
}

/** Some people order whatever they were sent. */
export async function orderWithoutMessages(reaction: Reaction): Promise<void> {
  const { seed, visitors } = reaction;
  const users = visitors.map((visitor) => userIdOf(seed, visitor));
  const buyers = users.filter((userId) => chanceOf(reaction, userId)(ORDERS_ANYWAY));
  await postItems(
    reaction.ready,
    buyers.map((userId) => order(reaction, userId)),
  );
}

/** Opens e-mails, clicks and orders; answers how many of the recipients ordered in the end. */
export async function actOnMessages(
  reaction: Reaction,
  mailbox: ReadonlyMap<string, Mail>,
): Promise<number> {
  const items: OrderedItem[] = [];
  const pixels: string[] = [];
  let orders = 0;
  for (const { messageId, userId, pixel } of mailbox.values()) {
    const happens = chanceOf(reaction, userId);
    const ordersAnyway = happens(ORDERS_ANYWAY);
    const opens = happens(OPENS);
    const clicks = opens && happens(CLICKS);
    const ordersNow = clicks && happens(ORDERS);
    if (opens && pixel !== undefined) pixels.push(pixel);
    if (clicks) items.push(click(reaction, { userId, messageId }));
    if (ordersNow) items.push(order(reaction, userId));
    if (ordersNow || ordersAnyway) orders++;
  }
  await loadAll(pixels);
  await postItems(reaction.ready, items);
  return orders;
}

/** Chances that are the same each time for a person and a campaign, in the order of questions. */
function chanceOf({ seed, campaignId }: Reaction, userId: string): (share: number) => boolean {
  const [, visitor = '0'] = /-(\d+)$/.exec(userId) ?? [];
  const random = seededRandom(seed * 1_000_003 + Number(visitor) + campaignId * 7919);
  return (share) => random() < share;
}

function click(
  { campaignId }: Reaction,
  { userId, messageId }: { userId: string; messageId: string },
): OrderedItem {
  return eventOf(userId, {
    ...{ message_id: `demo-c${campaignId}-click-${userId}`, event: 'message_clicked' },
    context: { campaign: { message_id: messageId, source: 'ravand', medium: 'email' } },
  });
}

/** One for each person, whatever led to it. */
function order({ campaignId }: Reaction, userId: string): OrderedItem {
  const message_id = `demo-c${campaignId}-order-${userId}`;
  return eventOf(userId, {
    ...{ message_id, event: 'order_completed' },
    properties: { order_id: message_id, revenue: PRICE, currency: 'IRR', item_count: 1 },
  });
}

function eventOf(userId: string, event: object): OrderedItem {
  const timestamp = new Date().toISOString();
  const item = { type: 'track', user_id: userId, timestamp, ...event };
  return { orderKey: userId.slice(-1), userAgent: PHONE, item };
}

async function postItems(ready: Ready, items: readonly OrderedItem[]): Promise<void> {
  const { ingest_url: url, demo } = ready;
  await sendOrderedBatches(
    orderedBatches(items, BATCH_ITEMS),
    { parallel: PARALLEL },
    async (batch) => {
      await postBatch({ url, writeKey: demo.write_key }, batch);
    },
  );
}

/** An image that does not load is not opened: nobody waits for it. */
async function loadAll(urls: readonly string[]): Promise<void> {
  const rest = urls.values();
  const worker = async () => {
    for (const url of rest)
      await fetch(url, { headers: { 'User-Agent': PHONE }, signal: AbortSignal.timeout(5000) })
        .then((answer) => answer.arrayBuffer())
        .catch(() => undefined);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}
