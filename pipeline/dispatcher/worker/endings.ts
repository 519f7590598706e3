import {
  WITHHELD_REASON,
  type FailureReason,
  type SkipReason,
} from '../../../events/messages/reasons.ts';
import type { RecipientOutcome } from './ports.ts';

/** How a recipient ends, without the attempts. */
export type Ending = Pick<RecipientOutcome, 'status' | 'reason'> &
  Partial<Pick<RecipientOutcome, 'addressHash' | 'providerMessageId'>>;

const failed = (reason: FailureReason) => ({ status: 'failed', reason }) as const;

/** An attempt of which nobody knows whether it was sent; its reservation of the cap stays. */
export const UNKNOWN = failed('outcome_unknown');
export const DEADLINE = failed('deadline');
/** The control group stays what it is, whatever ends the run. */
export const WITHHELD = { status: 'withheld', reason: WITHHELD_REASON } as const;
export const CANCELLED = { status: 'skipped', reason: 'cancelled' satisfies SkipReason } as const;
