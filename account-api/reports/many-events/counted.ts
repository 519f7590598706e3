/** Whole numbers from 0 on. */
export type Numbers = Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** The counts of one thread; those of several are added up, and their lists are one. */
export interface Counted {
  counts: Float64Array<ArrayBuffer>[];
  lists: Numbers[];
}
