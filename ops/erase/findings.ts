import type { ErasureRow } from './erasure-row.ts';
import type { Needle } from './needles.ts';

/** Where something was found. Never the text that was found. */
export interface Finding {
  store: 'clickhouse' | 'postgres' | 'log' | 'archive' | 'files' | 'redis';
  /** A table, topic, key or file. */
  place: string;
  count: number;
}

export interface Verification {
  findings: Finding[];
  /** Events of other people that name the person: they stay as they are. */
  mentions: Finding[];
}

export interface Search {
  erasure: ErasureRow;
  needles: readonly Needle[];
  signal: AbortSignal;
}
