import type { Channel } from '../../events/channels/channel-change.ts';
import type { ConsentState } from '../../events/channels/chosen-consents.ts';
import type { Target } from '../providers/provider.ts';

/** Somebody who may get a message. */
export interface WantedRecipient {
  accountId: number;
  channel: Channel;
  /** Names the person: the canonical id when the audience was frozen, or the id of a request. */
  personId: string;
  /** A distinct id of the person, under which consents and events are recorded. */
  userId: string;
  /** Traits and columns that the message names (namedVariables); undefined: any. */
  variables?: readonly string[] | undefined;
}

/** What is known of a recipient now. */
export interface Resolved {
  /** The canonical id of the person. */
  canonical: string;
  /** Of the account's identities: when one of the names changed last; 0: it has one name. */
  identityRevision: number;
  /** Every distinct id of the person; of one with more than MAX_NAMES, some. */
  names: readonly string[];
  /** Where the channel reaches the person, at most MAX_TARGETS; the last registered first. */
  targets: readonly Target[];
  /** The first of them as text, for its hash and for message_recipients; empty: none. */
  address: string;
  /** The address bounced, or its owner complained: nothing is sent to it. */
  suppressed: boolean;
  /** The last decision about the channel under any name, also one that is only announced. */
  consent: ConsentState | undefined;
  /** A trait refuses marketing: email_opt_in, sms_opt_in or push_opt_in is false. */
  optedOut: boolean;
  /** The same trait is true. */
  optedIn: boolean;
  /** Variables `user.*`: traits and profile columns that are set. */
  profile: Readonly<Record<string, unknown>>;
}

/** A message to several devices of a person is one message (docs/messages.md, Limits). */
export const MAX_TARGETS = 10;

/** Of a person with more distinct ids not all consents can be looked up: no marketing is sent. */
export const MAX_NAMES = 1000;
