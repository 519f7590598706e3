import { truncateBytes } from '../../events/bytes.ts';
import { MAX_ERROR_BYTES, type AttemptVerdict } from '../../events/relays/retry.ts';
import type { LogPosition } from '../../schemas/log-position.ts';

/** One event for one relay. */
export interface Delivery {
  relayId: number;
  accountId: number;
  place: LogPosition;
  messageId: string;
  event: string;
  /** The very bytes that are sent and signed. */
  payload: string;
  /** Attempts that were made before. */
  attempts: number;
}

/**
 * What became of a delivery: an attempt's verdict, or no attempt was made and it waits; `error`
 * says for what where a person must do something.
 */
export type Outcome = AttemptVerdict | { kind: 'waiting'; delay: number; error: string | null };

/** The delivery is in the hands of this process: an attempt goes on. */
export const IN_HAND = { kind: 'in_hand' } as const;

/** At most 500 bytes that PostgreSQL can hold. */
export function errorText(text: string): string {
  return truncateBytes(text.replaceAll('\u0000', '\ufffd'), MAX_ERROR_BYTES);
}
