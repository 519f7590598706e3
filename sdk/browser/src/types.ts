export type Consent = 'granted' | 'pending' | 'denied';

/** A JSON object. Values that JSON cannot hold are left out, as JSON.stringify does. */
export type Properties = Record<string, unknown>;

declare global {
  /**
   * The properties of each event, by its name. The command `ravand-schema` writes a file that
   * declares them; without it every name and every property is allowed.
   */
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- declarations merge into it
  interface RavandTrackingPlan {}
}

export type EventName = keyof RavandTrackingPlan extends never
  ? string
  : Extract<keyof RavandTrackingPlan, string>;

export type PropertiesOf<E> = E extends keyof RavandTrackingPlan
  ? RavandTrackingPlan[E]
  : Properties;

export interface LoadOptions {
  /** The ingest host, for example https://in.example.com; default: where the script came from. */
  host?: string;
  /** So many calls are sent at once; default 20. */
  flushAt?: number;
  /** The longest time that a call waits for others, ms; default 5000. */
  flushInterval?: number;
  /** Until `consent` was called for the first time in this browser; default `granted`. */
  consent?: Consent;
  /** Where events wait; default localStorage, and memory where storage is refused. */
  persistence?: 'localStorage' | 'memory';
  /** One page view for each address that the page shows; default true. */
  autoPage?: boolean;
  /** `consent` is `denied` by default where the browser asks not to be tracked; default false. */
  respectDoNotTrack?: boolean;
  /** Shows on-site campaigns at each page view; default false. */
  onsite?: boolean | OnsiteOptions;
  /** Of `webPush()`. */
  webPush?: WebPushOptions;
}

export interface OnsiteOptions {
  /** Shows `content.html`, in a frame without scripts; default false. */
  allowHtml?: boolean;
}

export interface WebPushOptions {
  /** `public_key` that `admin channel set --channel web` answered. */
  publicKey: string;
  /** Where the page serves the SDK's service worker; default /ravand-worker.js. */
  worker?: string;
}

export interface CallOptions {
  /** When it happened: a Date, ms since the epoch, or RFC 3339; default: now. */
  timestamp?: Date | number | string;
  /** At most 256 bytes; default: a new UUID. */
  message_id?: string;
  /** Each member replaces what the SDK found out; `campaign` is merged with it. */
  context?: Properties;
}

/** What happened to the calls of this browser, for the books of the ingest host. */
export interface Balance {
  made: number;
  stored: number;
  sent: number;
  /** By cause. */
  dropped: Record<string, number>;
}

export interface Listeners {
  /** message ids that the host has accepted */
  sent: string[];
  /** message ids that nobody will send again, and why */
  rejected: { ids: string[]; reason: string };
  error: Error;
}

export interface WebPush {
  /**
   * Asks for the permission and subscribes this browser for the user of `identify`. Call it in
   * answer to a click: browsers refuse to ask otherwise.
   * @returns whether messages may be shown
   */
  subscribe(): Promise<boolean>;
  unsubscribe(): Promise<void>;
}

/** An entry of the inbox of the user of `identify`. */
export interface InboxMessage {
  id: string;
  title: string;
  body: string;
  url?: string;
  data?: Record<string, unknown>;
  created_at: string;
  read: boolean;
}

export interface InboxPage {
  messages: InboxMessage[];
  unread: number;
}

/** How the page proves who reads: made by its server with the inbox secret. */
export type InboxProof = { user_hash: string } | { user_token: string };

/** Its calls reject with what the host answered. */
export interface Inbox {
  /** @param page at most `limit` entries (default 20), older than the entry `before` */
  list(page?: { limit?: number; before?: string }): Promise<InboxPage>;
  markRead(ids: string[]): Promise<InboxPage>;
  markAllRead(): Promise<InboxPage>;
}

/** Calls that make an event return its message id, and never throw. */
export interface Client {
  track<E extends EventName>(event: E, properties?: PropertiesOf<E>, options?: CallOptions): string;
  identify(userId: string, traits?: Properties, options?: CallOptions): string;
  page(name?: string, properties?: Properties, options?: CallOptions): string;
  screen(name?: string, properties?: Properties, options?: CallOptions): string;
  /** @param previousId default: the user, or else the anonymous visitor, so far */
  alias(userId: string, previousId?: string, options?: CallOptions): string;
  /** The next calls are of an unknown person in a new session. What waits stays. */
  reset(): void;
  /**
   * `pending`: events are stored and not sent; `denied`: nothing is stored, and what was stored is
   * removed. The browser keeps it.
   */
  consent(state: Consent): void;
  /** @returns what this page sent, and what waits */
  flush(): Promise<{ sent: number; pending: number }>;
  anonymousId(): string;
  userId(): string | undefined;
  on<K extends keyof Listeners>(name: K, listen: (value: Listeners[K]) => void): void;
  /** Web push for this browser; needs the option `webPush`. */
  webPush(): Promise<WebPush>;
  /** The inbox of the user of `identify`. */
  inbox(proof: () => InboxProof | Promise<InboxProof>): Promise<Inbox>;
}

export interface Ravand extends Client {
  /** Begins. The calls before it are made now; a second `load` changes nothing. */
  load(writeKey: string, options?: LoadOptions): Ravand;
}
