import type { Channel } from '../../events/channels/channel-change.ts';
import type { JsonObject } from '../../events/json.ts';
import type { DeliveryReports } from '../delivery/delivery-reports.ts';
import type { MessagesToPrepare, Prepared } from '../delivery/prepare-messages.ts';
import type { Resolved, WantedRecipient } from '../recipients/resolved.ts';
import type { OpenSender } from '../senders/senders.ts';
import type { Category, TemplateVersion } from '../templates/template.ts';
import type { MessageResult } from './message-result.ts';
import type { TransactionalStore } from './transactional-store.ts';

/** A valid request of POST /v1/messages (management 2.8), or of a test message. */
export interface TransactionalRequest {
  accountId: number;
  userId: string;
  templateId: number;
  channel: Channel;
  /** `marketing`: only under the key of a test message (testMessageKey). */
  category: Category;
  idempotencyKey: string;
  vars: JsonObject;
  /** ms since the epoch */
  receivedAt: number;
}

export type TransactionalAnswer =
  | { kind: 'answered'; result: MessageResult; isReplay: boolean }
  /** A request with the key is being served. */
  | { kind: 'in_flight' }
  /** The template is of marketing. */
  | { kind: 'marketing' }
  /** Nothing was handed over, and the key is free. */
  | { kind: 'unavailable' };

/** What a message waits for, one after the other. */
export const STAGES = ['template', 'resolve', 'prepare', 'open', 'call', 'complete'] as const;
export type Stage = (typeof STAGES)[number];

type Ledger = Pick<TransactionalStore, 'reserve' | 'open' | 'unopen' | 'release' | 'complete'>;

/** What sending needs. Reading and writing reject when a store does not answer. */
export interface TransactionalPorts {
  store: Ledger;
  /** The newest version of a template; undefined: the account has no such template. */
  template: (accountId: number, templateId: number) => Promise<TemplateVersion | undefined>;
  resolve: (recipient: WantedRecipient) => Promise<Resolved>;
  /** Undefined: the channel is not configured. */
  sender: (accountId: number, channel: Channel) => Promise<OpenSender | undefined>;
  /** How far consents are behind, ms (ConsentLag); asked for marketing only. Never rejects. */
  consentLag: () => Promise<number>;
  prepare: (of: MessagesToPrepare) => Promise<Prepared[]>;
  reports: DeliveryReports & {
    /** A store failed, or a message cannot be prepared. */
    problem: (error: unknown, of: { accountId: number; code: string }) => void;
  };
  /** A stage of a message took so long, ms. */
  measured: (stage: Stage, ms: number) => void;
  /** ms since the epoch */
  now: () => number;
  /** In [0, 1). */
  random: () => number;
  /** A number that no other reservation has. */
  newFence: () => number;
  wait: (ms: number) => Promise<void>;
}
