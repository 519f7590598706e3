import { randomUUID } from 'node:crypto';
import type { AliasFact } from '../../projections/identities/alias-fact.ts';
import type { ProfileEvent } from '../../projections/profiles/profile.ts';
import { startTraffic, type Envelope, type Load, type LoadOptions } from './load.ts';

/** What a client sent in an event, apart from where and when it was stored. */
export type SentEvent = Pick<
  ProfileEvent,
  'event' | 'user_id' | 'anonymous_id' | 'revenue' | 'traits' | 'trait_numbers' | 'profile'
> & {
  previous_id: string;
};

/** All sent events, by message id. */
export type SentEvents = Map<string, SentEvent>;

/** Where and when an event was stored. */
export type Stored = Pick<
  ProfileEvent,
  '_epoch' | '_partition' | '_offset' | '_index' | 'account_id' | 'timestamp' | 'received_at'
> & {
  message_id: string;
};

const CITIES = ['تهران', 'شیراز', 'تبریز'];
const pick = <T>(values: readonly [T, ...T[]]): T =>
  values[Math.floor(Math.random() * values.length)] ?? values[0];

/**
 * Shoppers who browse anonymously, sign in (alias), order, get refunds and change their traits.
 * Some share a device, so that aliases are refused.
 */
export function startCommerceLoad(options: LoadOptions & { sentEvents: SentEvents }): Load {
  const visits = Array.from({ length: options.people }, () => 0);
  return startTraffic(options, (shopper) => {
    const visit = visits[shopper] ?? 0;
    if (Math.random() < 0.1) visits[shopper] = visit + 1;
    return Array.from({ length: 1 + Math.floor(Math.random() * 8) }, () =>
      makeEvent(options.sentEvents, shopper, visit),
    );
  });
}

function makeEvent(sentEvents: SentEvents, shopper: number, visit: number): Envelope {
  const device = Math.random() < 0.1 ? 'kiosk' : `device-${shopper}-${visit}`;
  const user = `shopper-${shopper}`;
  const isSignedIn = Math.random() < 0.6;
  const event: SentEvent = {
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
  sentEvents.set(message_id, event);
  const sent = { message_id, user_id: event.user_id, anonymous_id: event.anonymous_id };
  switch (
    pick<string>(['order', 'order', 'refund', 'cancel', 'amount', 'identify', 'alias', 'merge'])
  ) {
    case 'order':
    case 'refund':
    case 'cancel':
    case 'amount': {
      event.event = pick([
        'order_completed',
        'order_completed',
        'order_refunded',
        'order_cancelled',
        'product_viewed',
      ]);
      event.revenue = Math.floor(Math.random() * 4_000_000) / 1000;
      return { ...sent, type: 'track', event: event.event, properties: { revenue: event.revenue } };
    }
    case 'identify': {
      const level = Math.floor(Math.random() * 100);
      const city = pick(['تهران', ...CITIES]);
      event.traits = { level: String(level), plan: pick(['free', 'gold']) };
      event.trait_numbers = { level };
      event.profile = { city };
      return { ...sent, type: 'identify', traits: { level, plan: event.traits['plan'], city } };
    }
    case 'alias':
      Object.assign(event, { event: 'alias', user_id: user, previous_id: device });
      return { ...sent, type: 'alias', user_id: user, previous_id: device };
    default: {
      // Either of two shoppers may be merged into the other, so that cycles occur.
      const other = `shopper-${Math.floor(shopper / 3) * 3 + Math.floor(Math.random() * 3)}`;
      Object.assign(event, { event: 'alias', user_id: user, previous_id: other });
      return { ...sent, type: 'alias', user_id: user, previous_id: other };
    }
  }
}

/** Joins what was sent with where it was stored: the input of the reference fold. */
export function eventsOf(stored: readonly Stored[], sentEvents: SentEvents): ProfileEvent[] {
  return stored.flatMap(({ message_id, ...position }) => {
    const sent = sentEvents.get(message_id);
    return sent ? [{ ...sent, ...position }] : [];
  });
}

/** The aliases among the events that may merge two people. */
export function aliasesOf(stored: readonly Stored[], sentEvents: SentEvents): AliasFact[] {
  return stored.flatMap(({ message_id, received_at, ...position }) => {
    const sent = sentEvents.get(message_id);
    if (sent?.event !== 'alias' || sent.previous_id === sent.user_id) return [];
    const order = {
      receivedAt: received_at,
      epoch: position._epoch,
      partition: position._partition,
      offset: position._offset,
      index: position._index,
    };
    return [{ previousId: sent.previous_id, userId: sent.user_id, order }];
  });
}
