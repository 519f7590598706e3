import type { Channel } from '../../events/channels/channel-change.ts';
import type { ProfileColumn } from '../../events/traits.ts';
import type { RecipientFacts } from './read-facts.ts';
import { MAX_NAMES, type Resolved } from './resolved.ts';

/**
 * The traits that refuse or allow marketing, by channel (docs/messages.md, Consent, quiet hours,
 * caps).
 */
const OPT_IN: Readonly<Partial<Record<Channel, ProfileColumn>>> = {
  email: 'email_opt_in',
  sms: 'sms_opt_in',
  push: 'push_opt_in',
  web: 'push_opt_in',
};
/** The column with the address of a channel; other addresses are registered. */
const ADDRESS: Readonly<Partial<Record<Channel, ProfileColumn>>> = { email: 'email', sms: 'phone' };

/** The profile columns that say where a channel reaches a person, and whether it may. */
export function columnsOfChannel(channel: Channel): ProfileColumn[] {
  return [ADDRESS[channel], OPT_IN[channel]].filter((column) => column !== undefined);
}

type ConsentFacts = Pick<RecipientFacts, 'names' | 'consent' | 'optOutAt' | 'complaintAt'>;

/**
 * What a person decided about a channel: the latest of consents, announced opt-outs and complaints
 * under all names. Of a person with too many names not all are known, so none is taken for granted.
 */
export function decideConsent({
  channel,
  facts,
  columns,
}: {
  channel: Channel;
  facts: ConsentFacts;
  /** Of the profile. */
  columns: Readonly<Record<string, string>>;
}): Pick<Resolved, 'consent' | 'optedOut' | 'optedIn'> {
  const column = OPT_IN[channel];
  const optIn = column === undefined ? '' : (columns[column] ?? '').trim().toLowerCase();
  return {
    consent: lastDecision(facts),
    ...{ optedOut: optIn === 'false' || optIn === '0', optedIn: optIn === 'true' || optIn === '1' },
  };
}

function lastDecision(facts: ConsentFacts): Resolved['consent'] {
  const { names, consent, optOutAt = -1, complaintAt = -1 } = facts;
  const refusedAt = Math.max(optOutAt, complaintAt);
  if (names.length > MAX_NAMES) return 'unsubscribed';
  if (refusedAt >= 0 && refusedAt >= (consent?.receivedAt ?? -1)) return 'unsubscribed';
  if (consent === undefined) return undefined;
  // A state of a newer release is no consent.
  return consent.state === 'subscribed' ? 'subscribed' : 'unsubscribed';
}
