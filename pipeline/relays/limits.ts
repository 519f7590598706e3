/** How much the processor does at once, and how long it waits. Tests make some of it smaller. */
export interface RelayLimits {
  /** One attempt, ms (ingest 6.2). */
  attempt: number;
  /** An attempt from the stream that takes longer goes on by itself, and the stream with it, ms. */
  patience: number;
  /** Deliveries that the stream settles together. */
  chunk: number;
  /** Their payloads together, characters. */
  chunkSize: number;
  /** Attempts at the same time to one endpoint. */
  perEndpoint: number;
  /** Deliveries that wait in memory for one endpoint. */
  waiting: number;
  /** Attempts at the same time in all; endpoints in trouble get at most half of them. */
  slots: number;
  /** Most rows that one claim takes for one endpoint, and in all. */
  claimPerEndpoint: number;
  claim: number;
  /**
   * How long a claimed row is this process's own, ms: longer than it may wait for its turn and be
   * attempted.
   */
  lease: number;
  /** The same for a row whose attempt has begun, ms. */
  leaseInHand: number;
  /** Pause between two looks at the queue: least, and most while nothing is due, ms. */
  busy: number;
  idle: number;
}

export const RELAY_LIMITS: RelayLimits = {
  attempt: 15_000,
  patience: 250,
  chunk: 500,
  chunkSize: 4 * 2 ** 20,
  perEndpoint: 16,
  waiting: 2000,
  slots: 512,
  claimPerEndpoint: 64,
  claim: 500,
  lease: 90_000,
  leaseInHand: 30_000,
  busy: 50,
  idle: 400,
};
