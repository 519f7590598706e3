/** The counts of one thread; those of several are added up, and their lists are one. */
export interface Counted {
  /**
   * Of a funnel: people by length of their path. Of a first-time retention: members by cohort, and
   * those who returned, by cohort * periods + period since the cohort's.
   */
  counts: Float64Array<ArrayBuffer>[];
  /** Of a funnel: addresses of the lists of ms between each two steps of the paths. */
  lists: number[];
}
