import type { LiveRow } from './live-query.ts';

/** An event with its times as text. */
export function eventJson({ received, occurred, ...row }: LiveRow) {
  return {
    received_at: new Date(received).toISOString(),
    timestamp: new Date(occurred).toISOString(),
    ...row,
  };
}
