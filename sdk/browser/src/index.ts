import type { Entries, EntryModule } from './entry.ts';
import { makeRavand, type EarlyRavand } from './ravand.ts';
import type { Client } from './types.ts';

export type {
  Balance,
  CallOptions,
  Client,
  Consent,
  EventName,
  Inbox,
  InboxMessage,
  InboxPage,
  InboxProof,
  Listeners,
  LoadOptions,
  OnsiteOptions,
  Properties,
  PropertiesOf,
  Ravand,
  WebPush,
  WebPushOptions,
} from './types.ts';

const ENTRIES: { [K in keyof Entries]: () => Promise<EntryModule<K>> } = {
  onsite: () => import('./onsite/onsite.ts'),
  'web-push': () => import('./web-push/web-push.ts'),
  inbox: () => import('./inbox/inbox.ts'),
};

/** Before `load` nothing is known: what only answers says so, and does not throw. */
const early: EarlyRavand & Partial<Client> = {
  flush: () => Promise.resolve({ sent: 0, pending: 0 }),
  anonymousId: () => '',
  userId: () => undefined,
  webPush: () => Promise.reject(new Error('load() was not called')),
  inbox: () => Promise.reject(new Error('load() was not called')),
};

const ravand = makeRavand(early, '', (name) => ENTRIES[name]());
export default ravand;
