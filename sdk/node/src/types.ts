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

export interface RavandOptions {
  writeKey: string;
  /** The ingest host, for example https://in.example.com. */
  host: string;
  /** As many waiting events are sent at once; default 100. */
  flushAt?: number;
  /** The longest time that an event waits for others, ms; default 1000. */
  flushInterval?: number;
  /** Events that wait at most; further ones push out the oldest. Default 10000. */
  maxQueue?: number;
  /**
   * A file in which events wait, so that they survive the process: they are on disk about 50 ms
   * after the call. One process uses it at a time. Default: memory alone.
   */
  queueFile?: string;
  /**
   * A flush of at most so long, ms, precedes the end of the process by SIGTERM, and by having
   * nothing left to do; 0: none. Default 5000.
   */
  flushOnTermination?: number;
}

/** Whose event it is: at least one of the two. */
export type Identity =
  { userId: string; anonymousId?: string } | { userId?: string; anonymousId: string };

export interface EventOptions {
  /** When it happened: a Date, ms since the epoch, or RFC 3339; default: now. */
  timestamp?: Date | number | string;
  /** At most 256 bytes; default: a new UUID. */
  messageId?: string;
  context?: Properties;
}

export type TrackCall<E extends EventName = EventName> = Identity &
  EventOptions & { event: E; properties?: PropertiesOf<E> };
export type IdentifyCall = Identity & EventOptions & { traits?: Properties };
export type PageCall = Identity & EventOptions & { name?: string; properties?: Properties };
export type AliasCall = EventOptions & { userId: string; previousId: string };

/** Since the SDK was made. */
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
  error: RavandError;
}

export type ErrorCode =
  'closed' | 'configuration' | 'refused' | 'queue_full' | 'queue_file' | 'unavailable' | 'timeout';

/** What went wrong: `code` is for programs, the message for people. */
export class RavandError extends Error {
  readonly code: ErrorCode;
  /** Of the HTTP answer, if there was one. */
  readonly status: number | undefined;
  constructor(code: ErrorCode, message: string, more: { status?: number; cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.name = 'RavandError';
    this.code = code;
    this.status = more.status;
  }
}
