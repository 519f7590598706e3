import type { ProviderMessage } from '../../../messaging/providers/provider.ts';
import type { MessageStatus } from '../../../schemas/records.ts';

/** The outcome of a recipient, by its index in the chunk. */
export interface RecipientOutcome {
  index: number;
  status: MessageStatus;
  /** Empty when sent. */
  reason: string;
  /** Calls of the provider. */
  attempts: number;
  /** Empty: no provider was called. */
  provider: string;
  providerMessageId: string;
  /** Hexadecimal; empty: no address was used. */
  addressHash: string;
}

/** A message that can be handed to the provider once its attempt is recorded. */
export interface PreparedMessage {
  /** One for each target of the recipient. */
  messages: readonly ProviderMessage[];
  /** When the recipient was looked up, ms since the epoch. */
  resolvedAt: number;
  addressHash: string;
  /** Who holds a reservation of the frequency cap for it; empty: nobody. */
  capOf: string;
}

/** What is to be done with a recipient now. */
export type Decision =
  | { kind: 'finish'; status: MessageStatus; reason: string; addressHash: string }
  | { kind: 'wait'; until: number }
  | { kind: 'send'; message: PreparedMessage };

/**
 * What the calls for one recipient came to. `retry` means that no provider took the message;
 * `unknown` that one may have.
 */
export type CallAnswer =
  | { kind: 'sent'; providerMessageId: string }
  | { kind: 'failed'; reason: string }
  | { kind: 'retry'; afterMs?: number }
  | { kind: 'unknown' };
