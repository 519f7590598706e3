/** A run that this process has leased. */
export interface LeasedRun {
  id: number;
  campaignId: number;
  accountId: number;
  /** messaging/campaigns: the campaign's definition when the run was asked for. */
  definition: unknown;
  /** Of the lease: statements under an earlier one have no effect. */
  fence: number;
  /** Names the rows of campaign_recipients: of the frozen audience, or of the freeze to come. */
  freezeAttempt: number;
  /** Undefined: not frozen yet. */
  frozen: FrozenAudience | undefined;
  /** Chunks that are durable, and the key of their last recipient; '' without chunks. */
  chunks: number;
  lastKey: string;
}

export interface FrozenAudience {
  /** ms since the epoch */
  at: number;
  /** People, those of the control group among them. */
  people: number;
}

export interface SliceSizes {
  /**
   * Recipients of a chunk, except of a run's last one. Another size would number the chunks of runs
   * anew that are being planned.
   */
  chunk: number;
  /** Chunks of a slice: what a run may do before others have their turn. */
  slice: number;
}

/** A slice is 100,000 recipients, which take some tenths of a second. */
export const SLICE_SIZES: SliceSizes = { chunk: 500, slice: 200 };
