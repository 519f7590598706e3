import type { ProviderMessage } from '../../../messaging/providers/provider.ts';
import type { OpenSender } from '../../../messaging/senders/senders.ts';
import type { ChunkRecipient, MessageChunk, MessageStatus } from '../../../schemas/records.ts';
import type { SenderAnswer } from '../senders/sender-gate.ts';
import type { LeasedChunk } from '../store/chunk-row.ts';

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
  /** For addresses that turn out to be dead. */
  userId: string;
  /** When the recipient was looked up, ms since the epoch. */
  resolvedAt: number;
  addressHash: string;
  /** Who holds a reservation of the frequency cap for it; empty: nobody. */
  capOf: string;
}

/**
 * What is to be done with a recipient now. `capOf`: as of a message, when it got a reservation and
 * does not use it. Only whoever has the lease may release it.
 */
export type Decision =
  | {
      kind: 'finish';
      status: MessageStatus;
      reason: string;
      addressHash: string;
      capOf?: string;
    }
  | { kind: 'wait'; until: number; capOf?: string }
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

/** A recipient whose attempt is recorded: its provider is called now. */
export interface Call {
  index: number;
  message: PreparedMessage;
}

/** What the outcomes of a chunk have in common. */
export interface OutcomeFacts {
  templateId: number;
  templateVersion: number;
  category: string;
}

export interface PreparedChunk {
  chunk: MessageChunk;
}

/** How the recipients of one leased chunk are prepared and called. */
export interface ChunkPorts {
  facts: OutcomeFacts;
  /**
   * One decision for each recipient, in their order. Rejects when they cannot be looked up now:
   * they are tried again, each time later.
   */
  prepare: (recipients: readonly ChunkRecipient[], of: PreparedChunk) => Promise<Decision[]>;
  /** Never rejects. */
  call: (call: Call) => Promise<CallAnswer>;
}

/** What a chunk is sent with while it is leased. */
export interface ChunkToSend {
  leased: LeasedChunk;
  /** Undefined: the channel is not configured. */
  sender: OpenSender | undefined;
  /** What each answer says about the sender. @param ms duration of the call */
  answered: (answer: SenderAnswer, ms: number) => void;
  /** Aborted: open calls end now. */
  signal: AbortSignal;
}

/** Rejects when the template cannot be read. */
export type OpenChunkPorts = (chunk: ChunkToSend) => Promise<ChunkPorts>;
