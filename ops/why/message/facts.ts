import type { MessageOutcome } from '../../../schemas/records.ts';
import type { MessageSettings } from '../../../messaging/settings/settings.ts';
import type { Fact } from '../evidence.ts';

/** The run that a message belongs to. Times in ms since the epoch. */
export interface RunFacts {
  accountId: number;
  /** The account's; a suspended one sends nothing. */
  isActive: boolean;
  campaignName: string;
  campaignStatus: string;
  channel: string;
  templateId: number;
  templateVersion: number;
  category: string;
  controlPercent: number;
  goal: { event: string; hours: number } | undefined;
  cause: string;
  state: string;
  paused: boolean;
  cancelled: boolean;
  dueAt: number;
  confirmedAt: number | undefined;
  freezeAttempt: number;
  frozenAt: number | undefined;
  planned: number;
  chunks: number;
  /** Key of the last recipient whose chunk is durable. */
  lastKey: string;
  isPlanned: boolean;
  deadlineAt: number | undefined;
  finishedAt: number | undefined;
  error: string;
}

/** A person of the frozen audience; an empty id: erased. */
export interface FrozenRecipient {
  personId: string;
  userId: string;
  isControl: boolean;
}

/** A recipient in the dispatcher's queue. */
export interface QueuedRecipient extends FrozenRecipient {
  chunk: number;
  index: number;
  recipients: number;
  /** `open`: a provider is being called, or was when its process died. */
  state: 'unopened' | 'open' | 'finished';
  /** Provider and revision of its sender; empty: none was called. */
  openedWith: string;
  retry: { attempts: number; at: number } | undefined;
  /** The chunk is not leased before. */
  nextAt: number;
  leasedUntil: number | undefined;
}

/** Of POST /v1/messages. */
export interface Reservation {
  reservedAt: number;
  openedAt: number | undefined;
  openedWith: string;
  finishedAt: number | undefined;
  result: { status: string; reason?: string; channel: string } | undefined;
}

/** By what the account sends on the channel. */
export interface SenderFacts {
  provider: string;
  isEnabled: boolean;
  broken: { reason: string; at: number } | undefined;
  perSecond: number | undefined;
  /** The time that its rate was given out up to. */
  usedUntil: number | undefined;
}

/** A sender as the dispatchers of this machine see it. */
export interface SenderPhase {
  phase: string;
  openCalls: number;
}

export interface MessageEvent {
  event: string;
  messageId: string;
  /** `platform`, or who sent it. */
  source: string;
  isBot: boolean;
  timestamp: number;
}

/** Opens that the gateway has recorded. */
export interface TrackedOpens {
  openedAt: number | undefined;
  openedByPersonAt: number | undefined;
}

/** The person's goal events that belong to the campaign. */
export interface Conversion {
  converted: boolean;
  revenue: number;
}

/** Everything known about one message. */
export interface MessageEvidence {
  messageId: string;
  id:
    | { kind: 'campaign'; campaignId: number; runId: number; key: string }
    | { kind: 'transactional'; accountId: number; idempotencyKey: string };
  now: number;
  /** Undefined: there is none, or the message is of no campaign. */
  run: Fact<RunFacts | undefined>;
  frozen: Fact<FrozenRecipient | undefined>;
  queued: Fact<QueuedRecipient | undefined>;
  reservation: Fact<Reservation | undefined>;
  /** Not published yet. */
  outbox: Fact<MessageOutcome | undefined>;
  stored: Fact<MessageOutcome | undefined>;
  sender: Fact<SenderFacts | undefined>;
  settings: Fact<MessageSettings | undefined>;
  /** Undefined: not asked, because nothing waits. */
  phase: Fact<SenderPhase | undefined>;
  /** How far what is known of consents is behind, ms; undefined: not asked. */
  consentLag: Fact<number | undefined>;
  events: Fact<readonly MessageEvent[]>;
  opens: Fact<TrackedOpens | undefined>;
  /** Undefined: the campaign has no goal, or the message was not sent. */
  conversion: Fact<Conversion | undefined>;
}

/** What became of the message, wherever it is known. */
export function outcomeOf({
  stored,
  outbox,
}: Pick<MessageEvidence, 'stored' | 'outbox'>): MessageOutcome | undefined {
  return (stored.known ? stored.value : undefined) ?? (outbox.known ? outbox.value : undefined);
}

/** Whose message it is; undefined: nobody who was asked knows it. */
export function accountOf({ id, run }: Pick<MessageEvidence, 'id' | 'run'>): number | undefined {
  if (id.kind === 'transactional') return id.accountId;
  return run.known ? run.value?.accountId : undefined;
}
