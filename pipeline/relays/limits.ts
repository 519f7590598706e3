/** Concurrency, batch sizes and waits of the relays. Tests make some of them smaller. */
export interface RelayLimits {
  /** Timeout of one attempt, ms (ingest 6.2). */
  attemptTimeout: number;
  /** How long the stream waits for first attempts before it continues without them, ms. */
  firstAttemptWait: number;
  /** Deliveries that the stream completes together. */
  chunkDeliveries: number;
  /**
   * Characters of their payloads together, counted once for each delivery, and of all chunks of a
   * partition that are not complete yet. An event with more goes to the queue, relay by relay.
   */
  chunkCharacters: number;
  /** Chunks and deliveries of a partition whose outcomes are not written yet. */
  incompleteChunks: number;
  incompleteDeliveries: number;
  /** Attempts in flight to one endpoint. */
  attemptsPerEndpoint: number;
  /** Deliveries that wait in memory for one endpoint. */
  waitingPerEndpoint: number;
  /** Attempts in flight in total; half of them are reserved for quick endpoints. */
  attempts: number;
  /** Rows of the queue in memory: of a quick endpoint, in total, and their payloads in bytes. */
  claimPerEndpoint: number;
  claimed: number;
  claimedBytes: number;
  /** Successes that are logged in a second, of one relay and in total. */
  loggedPerRelay: number;
  logged: number;
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
  incompleteChunks: 16,
  incompleteDeliveries: 4000,
  attemptsPerEndpoint: 16,
  waitingPerEndpoint: 2000,
  attempts: 512,
  claimPerEndpoint: 64,
  claimed: 1024,
  claimedBytes: 64 * 2 ** 20,
  loggedPerRelay: 10,
  logged: 1000,
  lease: 90_000,
  leaseInFlight: 30_000,
  minPause: 50,
  maxPause: 400,
};
