import type { Entries, EntryModule } from './entry.ts';
import { makeRavand } from './ravand.ts';

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

const ravand = makeRavand({}, '', (name) => ENTRIES[name]());
export default ravand;
