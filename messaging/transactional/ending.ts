import type { FailureReason, SkipReason } from '../../events/messages/reasons.ts';

/** How the attempts of one holder of a reservation ended. */
export type Ending = { attempts: number } & (
  | { kind: 'finished'; end: MessageEnd }
  /** Somebody else has the reservation. */
  | { kind: 'superseded' }
  /** Nothing was handed over. */
  | { kind: 'gave_up' }
);

/** What the outcome says of the message, beside its request. */
export interface MessageEnd {
  status: 'sent' | 'skipped' | 'failed';
  reason: '' | SkipReason | FailureReason;
  personId: string;
  addressHash: string;
  provider: string;
  providerMessageId: string;
}
