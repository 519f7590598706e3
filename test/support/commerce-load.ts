import { randomUUID } from 'node:crypto';
import type { Ready } from '../../cli/ready.ts';
import type { AliasFact } from '../../projections/identities/alias-fact.ts';
import type { ProfileEvent } from '../../projections/profiles/profile.ts';
import type { Ledger } from './ledger.ts';
import { sleep, type LoadReport } from './load.ts';
import type { TestAccount } from './stack.ts';

/** What a client said in an event, apart from where and when it was stored. */
export type Said = Pick<
  ProfileEvent,
  'event' | 'user_id' | 'anonymous_id' | 'revenue' | 'traits' | 'trait_numbers' | 'profile'
> & {
  previous_id: string;
};

/** What every event said, by message id. */
export type Sayings = Map<string, Said>;

/** Where and when an event was stored. */
export type Stored = Pick<
  ProfileEvent,
  '_epoch' | '_partition' | '_offset' | '_index' | 'account_id' | 'timestamp' | 'received_at'
> & {
  message_id: string;
};

interface CommerceOptions {
  ready: Ready;
  account: TestAccount;
  ledger: Ledger;
  sayings: Sayings;
  /** Shoppers who act at the same time, each request after the answer to the last. */
  people: number;
  /** Pause between two requests of a shopper, ms. */
  pause: number;
}

const CITIES = ['تهران', 'شیراز', 'تبریز'];
const pick = <T>(values: readonly [T, ...T[]]): T =>
  values[Math.floor(Math.random() * values.length)] ?? values[0];

/**
 * Shoppers who browse without a name, sign in (alias), order, get refunds, change their traits;
 * some share a device, so that aliases are refused. What is not answered 200 is sent again with the
 * same ids.
 */
export function startCommerceLoad(options: CommerceOptions): { stop(): Promise<LoadReport> } {
  const report: LoadReport = { requests: 0, retries: 0, refusals: [] };
  let running = true;
  let deadline = Number.POSITIVE_INFINITY;
  const shoppers = Array.from({ length: options.people }, async (_, shopper) => {
    let visit = 0;
    while (running) {
      const items = Array.from({ length: 1 + Math.floor(Math.random() * 8) }, () =>
        item(options, shopper, visit),
      );
      if (Math.random() < 0.1) visit++;
      const ids = items.map(({ message_id }) => message_id);
      options.ledger.sent(ids);
      for (let attempt = 0; ; attempt++) {
        report.requests++;
        if (attempt > 0) report.retries++;
        const status = await postBatch(options, items);
        if (status === 200) {
          options.ledger.answered(ids);
          break;
        }
        if (status !== 0 && status !== 503) report.refusals.push(`/v1/batch answered ${status}`);
        if (Date.now() > deadline) break;
        await sleep(Math.random() * Math.min(1000, 50 * 2 ** attempt));
      }
      await sleep(options.pause);
    }
  });
  return {
    async stop() {
      running = false;
      deadline = Date.now() + 60_000;
      await Promise.all(shoppers);
      return report;
    },
  };
}

/** An envelope of a batch (ingest 2.1). */
type Envelope = { message_id: string } & Record<string, unknown>;

function item({ sayings }: CommerceOptions, shopper: number, visit: number): Envelope {
  const device = Math.random() < 0.1 ? 'kiosk' : `device-${shopper}-${visit}`;
  const user = `shopper-${shopper}`;
  const isSignedIn = Math.random() < 0.6;
  const said: Said = {
    ...{
      event: 'identify',
      revenue: 0,
      traits: {},
      trait_numbers: {},
      profile: {},
      previous_id: '',
    },
    ...{ user_id: isSignedIn ? user : '', anonymous_id: device },
  };
  const message_id = randomUUID();
  sayings.set(message_id, said);
  const sent = { message_id, user_id: said.user_id, anonymous_id: said.anonymous_id };
  switch (
    pick<string>(['order', 'order', 'refund', 'cancel', 'amount', 'identify', 'alias', 'merge'])
  ) {
    case 'order':
    case 'refund':
    case 'cancel':
    case 'amount': {
      said.event = pick([
        'order_completed',
        'order_completed',
        'order_refunded',
        'order_cancelled',
        'product_viewed',
      ]);
      said.revenue = Math.floor(Math.random() * 4_000_000) / 1000;
      return { ...sent, type: 'track', event: said.event, properties: { revenue: said.revenue } };
    }
    case 'identify': {
      const level = Math.floor(Math.random() * 100);
      const city = pick(['تهران', ...CITIES]);
      said.traits = { level: String(level), plan: pick(['free', 'gold']) };
      said.trait_numbers = { level };
      said.profile = { city };
      return { ...sent, type: 'identify', traits: { level, plan: said.traits['plan'], city } };
    }
    case 'alias':
      Object.assign(said, { event: 'alias', user_id: user, previous_id: device });
      return { ...sent, type: 'alias', user_id: user, previous_id: device };
    default: {
      // Accounts of two shoppers become one, from either side: circles are among them.
      const other = `shopper-${Math.floor(shopper / 3) * 3 + Math.floor(Math.random() * 3)}`;
      Object.assign(said, { event: 'alias', user_id: user, previous_id: other });
      return { ...sent, type: 'alias', user_id: user, previous_id: other };
    }
  }
}

async function postBatch(
  { ready, account }: CommerceOptions,
  batch: readonly object[],
): Promise<number> {
  try {
    const response = await fetch(`${ready.ingest_url}/v1/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.writeKey}` },
      body: JSON.stringify({ batch }),
      signal: AbortSignal.timeout(20_000),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

/** The events as they were said and stored, for the specification of profiles. */
export function eventsOf(stored: readonly Stored[], sayings: Sayings): ProfileEvent[] {
  return stored.flatMap(({ message_id, ...place }) => {
    const said = sayings.get(message_id);
    return said ? [{ ...said, ...place }] : [];
  });
}

/** The aliases among them that may join something. */
export function aliasesOf(stored: readonly Stored[], sayings: Sayings): AliasFact[] {
  return stored.flatMap(({ message_id, received_at, ...place }) => {
    const said = sayings.get(message_id);
    if (said?.event !== 'alias' || said.previous_id === said.user_id) return [];
    const at = {
      receivedAt: received_at,
      epoch: place._epoch,
      partition: place._partition,
      offset: place._offset,
      index: place._index,
    };
    return [{ previousId: said.previous_id, userId: said.user_id, at }];
  });
}
