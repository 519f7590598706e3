/** Measured latency of an endpoint: an exponentially weighted mean. */
export interface Latency {
  readonly ms: number;
  /** Time of the newest measurement, ms. */
  readonly at: number;
}

/** `unknown`: no attempt ended within five minutes. */
export type Speed = 'unknown' | 'quick' | 'slow';

/** Mean latency up to which an endpoint is quick, ms. */
export const QUICK_MS = 150;
const WEIGHT = 0.3;
/** A longer attempt counts as this, so that an endpoint that recovers is quick again soon, ms. */
const MAX_SAMPLE_MS = 1000;
const FORGET_AFTER_MS = 300_000;

/** The latency after an attempt of `ms`. */
export function afterSample(
  before: Latency | undefined,
  { ms, now }: { ms: number; now: number },
): Latency {
  const sample = Math.min(ms, MAX_SAMPLE_MS);
  if (before === undefined || now - before.at > FORGET_AFTER_MS) return { ms: sample, at: now };
  return { ms: before.ms + WEIGHT * (sample - before.ms), at: now };
}

export function speedOf(latency: Latency | undefined, now: number): Speed {
  if (latency === undefined || now - latency.at > FORGET_AFTER_MS) return 'unknown';
  return latency.ms <= QUICK_MS ? 'quick' : 'slow';
}
