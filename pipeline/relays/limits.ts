/** Concurrency, batch sizes and waits of the relays. Tests make some of them smaller. */
export interface RelayLimits {
  /** Timeout of one attempt, ms (ingest 6.2). */
  attemptTimeout: number;
  /** How long the stream waits for first attempts before it continues without them, ms. */
  firstAttemptWait: number;
  /** Deliveries that the stream completes together. */
  chunkDeliveries: number;
  /** Characters of their payloads together. */
  chunkCharacters: number;
  /** Attempts in flight to one endpoint. */
  attemptsPerEndpoint: number;
  /** Deliveries that wait in memory for one endpoint. */
  waitingPerEndpoint: number;
  /** Attempts in flight in total; failing endpoints get at most half of them. */
  attempts: number;
  /** Maximum number of rows per claim, for one endpoint and in total. */
  claimPerEndpoint: number;
  claim: number;
  /** Lease of a claimed row, ms: longer than it may wait in memory and be attempted. */
  lease: number;
  /** Lease of a row whose attempt has begun, ms. */
  leaseInFlight: number;
  /** Pause between two reads of the queue, ms: at least, and at most while nothing is due. */
  minPause: number;
  maxPause: number;
}

export const RELAY_LIMITS: RelayLimits = {
  attemptTimeout: 15_000,
  firstAttemptWait: 250,
  chunkDeliveries: 500,
  chunkCharacters: 4 * 2 ** 20,
  attemptsPerEndpoint: 16,
  waitingPerEndpoint: 2000,
  attempts: 512,
  claimPerEndpoint: 64,
  claim: 500,
  lease: 90_000,
  leaseInFlight: 30_000,
  minPause: 50,
  maxPause: 400,
};
