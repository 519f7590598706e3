import { parseLine } from '../arguments.ts';
import { CommandError, type CommandContext } from '../command.ts';
import { print } from '../terminal.ts';
import {
  orderedBatches,
  sendOrderedBatches,
  type OrderedItem,
} from '../traffic/ordered-batches.ts';
import { postBatch } from '../traffic/post.ts';
import { startProgress } from '../traffic/progress.ts';
import { demoCampaign } from './campaign.ts';
import { freshReport } from './management-host.ts';
import { funnelPicture, type FunnelStep } from './picture.ts';
import { retentionPicture, triangleOf, type Cohort } from './triangle.ts';
import { visitorEvents } from './shop.ts';
import { serveShop } from './shop-site.ts';

/** The retention of the demo account. */
const MAX_DAYS = 400;
const BATCH_ITEMS = 50;
const PARALLEL = 8;
const GROUP = 2000;
const ORDER_KEYS = 32;
const STEPS = ['product_viewed', 'product_added_to_cart', 'checkout_started', 'order_completed'];
const DAY = 86_400_000;

/**
 * `./ravand demo`: posts a shop's traffic, shows funnel and retention of what is stored,
 * and sends a campaign to the people.
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values } = parseLine({
    args,
    options: {
      people: { type: 'string' },
      days: { type: 'string' },
      seed: { type: 'string' },
      shop: { type: 'boolean' },
    },
  });
  const people = count(values.people, { name: 'people', fallback: 500, max: 5_000_000 });
  const days = count(values.days, { name: 'days', fallback: 30, max: MAX_DAYS });
  const seed = count(values.seed, { name: 'seed', fallback: 1, max: 1_000_000 });
  const ready = context.ready();
  if (!ready) throw new CommandError('no stack is running here: start it with ./ravand up');
  if (values.shop === true) return serveShop(ready, context);

  const now = Date.now();
  print(
    `sending the traffic of ${people.toLocaleString('en')} people over ${days} days to ${ready.ingest_url}`,
  );
  const progress = startProgress({ total: people, unit: 'people', now: () => Date.now() });
  /** Those who signed in. */
  const signedIn: number[] = [];
  const totals = { accepted: 0, duplicates: 0, rejected: 0 };
  for (let first = 0; first < people; first += GROUP) {
    const last = Math.min(people, first + GROUP);
    const items: OrderedItem[] = [];
    for (let visitor = first; visitor < last; visitor++) {
      for (const item of visitorEvents({ seed, people, days, now }, visitor)) {
        items.push({ orderKey: String(visitor % ORDER_KEYS), userAgent: undefined, item });
        if (item.type === 'identify') signedIn.push(visitor);
      }
    }
    await sendOrderedBatches(
      orderedBatches(items, BATCH_ITEMS),
      { parallel: PARALLEL },
      async (batch) => {
        const answer = await postBatch(
          { url: ready.ingest_url, writeKey: ready.demo.write_key },
          batch,
        );
        totals.accepted += answer.accepted;
        totals.duplicates += answer.duplicates;
        totals.rejected += answer.rejected;
        progress.advance(((last - first) * batch.items.length) / items.length);
      },
    );
  }
  progress.end();
  print(
    `${totals.accepted.toLocaleString('en')} events accepted (${totals.duplicates.toLocaleString('en')} of them were there already), ${totals.rejected} rejected`,
  );

  const sentBy = Date.now();
  const range = {
    from: new Date(sentBy - (days + 1) * DAY).toISOString(),
    to: new Date(sentBy + DAY).toISOString(),
  };
  const funnel = await freshReport<{ steps: FunnelStep[] }>(ready, {
    sentBy,
    report: 'funnel',
    body: { ...range, steps: STEPS.map((event) => ({ event })) },
  });
  print();
  print(`the funnel of the last ${days} days, from ${ready.base_url}/v1/reports/funnel`);
  for (const line of funnelPicture(funnel.steps)) print(line);

  const { period, periods } = triangleOf(days);
  const visit = { event: 'page_viewed' };
  const body = {
    ...range,
    start: visit,
    return: visit,
    mode: 'first_time',
    period,
    periods,
    calendar: 'jalali',
  };
  const retention = await freshReport<{ cohorts: Cohort[] }>(ready, {
    sentBy,
    report: 'retention',
    body,
  });
  print();
  print(
    `who came back: first visits by ${period} (Jalali, Tehran), from ${ready.base_url}/v1/reports/retention`,
  );
  for (const line of retentionPicture(retention.cohorts, period)) print(line);
  if (signedIn.length > 0) await demoCampaign(ready, { seed, visitors: signedIn });
  return totals.rejected === 0 ? 0 : 1;
}

function count(
  text: string | undefined,
  options: { name: string; fallback: number; max: number },
): number {
  if (text === undefined) return options.fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > options.max)
    throw new CommandError(
      `--${options.name} ${text}: expected a whole number from 1 to ${options.max.toLocaleString('en')}`,
      2,
    );
  return value;
}
