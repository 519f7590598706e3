import { truncateBytes } from '../../events/bytes.ts';
import { MAX_ERROR_BYTES, type AttemptVerdict } from '../../events/relays/retry.ts';
import type { LogPosition } from '../../schemas/log-position.ts';

/** One event for one relay. */
export interface Delivery {
  relayId: number;
  accountId: number;
  /** Of the event. */
  position: LogPosition;
  messageId: string;
  event: string;
  /** The exact bytes that are sent and signed. */
  payload: string;
  /** Attempts so far. */
  attempts: number;
}

/**
 * What became of a delivery: an attempt's verdict; or no attempt was made and it waits at least
 * `delay` ms, where `error` says what for, when a person must act; or it is dead without an
 * attempt, or despite attempts left.
 */
export type Outcome =
  AttemptVerdict | { kind: 'waiting'; delay: number; error: string | null } | GivenUp;

/** Dead without an attempt, or despite attempts left. */
export interface GivenUp {
  kind: 'given_up';
  status: number | null;
  error: string;
  isAttempt: boolean;
}

export const WAITING = {
  kind: 'waiting',
  delay: 0,
  error: null,
} as const satisfies Outcome;

/** This process is attempting the delivery. */
export const IN_FLIGHT = { kind: 'in_flight' } as const;

/** A delivery that cannot be built, stored or sent. */
export function unsendable(reason: unknown): GivenUp {
  const message = reason instanceof Error ? reason.message : String(reason);
  const error = errorText(`the delivery cannot be built: ${message}`);
  return { kind: 'given_up', status: null, error, isAttempt: false };
}

/** At most 500 bytes, without NUL, which PostgreSQL cannot store. */
export function errorText(text: string): string {
  return truncateBytes(text.replaceAll('\u0000', '\ufffd'), MAX_ERROR_BYTES);
}
