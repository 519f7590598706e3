import { createFreshness, type Freshness } from '../../platform/freshness/freshness.ts';
import { logSnapshots } from '../../platform/freshness/log-snapshot.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import type { Log } from '../../platform/log.ts';

/** Kafka is asked at most this often, ms, and only while somebody wants to know. */
const SNAPSHOT_AGE_MS = 5000;

/** While consents are further behind, nothing marketing is sent (ARCHITECTURE.md, M6), ms. */
export const MAX_CONSENT_LAG_MS = 30_000;

export interface ConsentLag {
  /**
   * How far the projections behind consents are behind what was accepted, ms: addresses-sink, and
   * profiles-sink for the traits *_opt_in. While Kafka does not answer it grows with the time since
   * the last answer; Infinity before the first one. Never rejects.
   */
  read(): Promise<number>;
  close(): Promise<void>;
}

/** Connections to Kafka are made with the first question. */
export function connectConsentLag(options: {
  settings: KafkaSettings;
  /** Client id. */
  name: string;
  log: Log;
  /** ms since the epoch */
  now: () => number;
}): ConsentLag {
  const { settings, name, log, now } = options;
  const snapshots = logSnapshots({ settings, name, projections: ['profiles', 'addresses'] });
  const fetchSnapshot = () => snapshots.fetch();
  const freshness = createFreshness({ fetchSnapshot, now, log, maxAgeMs: SNAPSHOT_AGE_MS });
  return { read: () => consentLag(freshness, now), close: () => snapshots.close() };
}

export async function consentLag(
  freshness: Pick<Freshness, 'freshUntil'>,
  now: () => number,
): Promise<number> {
  try {
    return Math.max(0, now() - (await freshness.freshUntil(['profiles', 'addresses'])));
  } catch {
    return Infinity;
  }
}
