import type { Channel } from './channel-change.ts';

export type ConsentState = 'subscribed' | 'unsubscribed';

/** A form of the preference centre as it came back. */
export interface PreferenceForm {
  /** The states that the page showed when it was made. */
  shown: ReadonlyMap<Channel, ConsentState>;
  /** The channels that the person left or made checked. */
  checked: ReadonlySet<Channel>;
}

/**
 * The changes that a form asks for, by channel (docs/channels.md, Pages of messages). `known` holds
 * the channels of the account and their present states; others are ignored. A page may be old: it
 * subscribes only to what the person checked on it, not to what was checked when it was made, and
 * it unsubscribes from everything that is unchecked.
 */
export function chosenConsents(
  known: ReadonlyMap<Channel, ConsentState>,
  { shown, checked }: PreferenceForm,
): Map<Channel, ConsentState> {
  const changes = new Map<Channel, ConsentState>();
  for (const [channel, state] of known) {
    const before = shown.get(channel);
    if (before === undefined) continue;
    const isSubscribed = state === 'subscribed' || before === 'subscribed';
    if (checked.has(channel)) {
      if (before === 'unsubscribed') changes.set(channel, 'subscribed');
    } else if (isSubscribed) changes.set(channel, 'unsubscribed');
  }
  return changes;
}
