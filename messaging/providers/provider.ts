import type { Channel } from '../../events/channels/channel-change.ts';

/** What a template became for one recipient; a channel uses the fields that it has. */
export interface RenderedContent {
  subject: string;
  title: string;
  text: string;
  html: string;
  url: string;
  /** Of push, web push and the inbox: strings for the app. */
  data: Readonly<Record<string, string>>;
}

/** Where a message goes, as the channel names it. */
export type Target =
  | { kind: 'email'; address: string }
  | { kind: 'phone'; number: string }
  | {
      kind: 'device';
      deviceId: string;
      provider: 'fcm' | 'apns' | 'hms';
      token: string;
      /** Of the last registration, ms since the epoch: APNs may speak of an earlier one. */
      registeredAt?: number;
    }
  | { kind: 'browser'; endpoint: string; p256dh: string; auth: string }
  | { kind: 'chat'; chatId: string }
  | { kind: 'inbox'; accountId: number; userId: string };

/** Of an e-mail: what belongs to its tokens (events/channels/tracking-token.ts). */
export interface EmailTracking {
  /** Local part of the VERP envelope sender. */
  bounceLocal: string;
  unsubscribeUrl: string;
  preferencesUrl: string;
}

export interface ProviderMessage {
  messageId: string;
  to: Target;
  content: RenderedContent;
  email?: EmailTracking;
  /** Delivery after this time is of no use, ms since the epoch. */
  expiresAt: number;
}

/**
 * What a call came to. `retry` and `broken` mean that the provider certainly did not take the
 * message; `unknown` that it may have.
 */
export type ProviderAnswer =
  | { kind: 'accepted'; providerMessageId: string }
  | { kind: 'rejected'; reason: string; detail: string }
  /** The address will never work: it is deactivated or suppressed with the reason. */
  | { kind: 'dead_address'; reason: string; detail: string }
  | { kind: 'retry'; reason: string; detail: string; afterMs?: number }
  /** The sender is refused (credentials, credit, policy): it sends nothing until somebody acts. */
  | { kind: 'broken'; reason: string; detail: string }
  | { kind: 'unknown'; reason: string; detail: string };

/** One configured sender of an account on a channel, open. */
export interface Provider {
  readonly channel: Channel;
  /** For example `fcm`. */
  readonly name: string;
  /**
   * A call with the same message id again sends nothing twice and answers what became of it: an
   * attempt whose answer was lost is repeated instead of ending as outcome_unknown.
   */
  readonly isIdempotent: boolean;
  /** Never rejects; ends within the provider's time limit or when `signal` is aborted. */
  send(message: ProviderMessage, options: { signal: AbortSignal }): Promise<ProviderAnswer>;
  close(): Promise<void>;
}
