import type { Inbox, InboxProof, OnsiteOptions, WebPush, WebPushOptions } from './types.ts';

/** What the core gives to entries that are loaded on demand. */
export interface Entry {
  host: string;
  writeKey: string;
  get: (key: string) => string | undefined;
  set: (key: string, value: string | object) => boolean;
  remove: (key: string) => void;
  keys: (prefix: string) => string[];
  anonymousId: () => string;
  userId: () => string | undefined;
  /** False: nothing is sent or kept of this visitor. */
  maySend: () => boolean;
  fail: (error: unknown) => void;
}

/** By name, what an entry is given and what it gives. */
export interface Entries {
  onsite: [options: boolean | OnsiteOptions, show: () => void];
  'web-push': [options: WebPushOptions | undefined, webPush: WebPush];
  inbox: [proof: () => InboxProof | Promise<InboxProof>, inbox: Inbox];
}

export interface EntryModule<K extends keyof Entries> {
  open: (entry: Entry, given: Entries[K][0]) => Entries[K][1];
}

/** Loads an entry, from this ingest host where it is not in the bundle; the browser keeps it. */
export type LoadEntry = <K extends keyof Entries>(name: K, host: string) => Promise<EntryModule<K>>;
