import type { OpenRange, RebuildProgress } from '../../projections/rebuild-target.ts';
import type { Job } from '../jobs/job-ledger.ts';
import type { RebuildSource } from './request.ts';

export interface RebuildPlan {
  projection: string;
  source: RebuildSource;
  /** Job whose swap is undone: its former table is brought up to date instead of a new one. */
  undoes?: number;
}

export interface RebuildCounts {
  records: number;
  rows: number;
  /** Shortest dedupe window without verdicts, ms; null: all of it fitted into memory. */
  shortest_window: number | null;
  swapped_at: string | null;
  /** UUID of the rebuilt table, written before EXCHANGE TABLES: shows whether it happened. */
  exchanging: string | null;
  /** UUID of the table that was live before: `--undo` finds it under any name. */
  former?: string | null;
}

export type RebuildJob = Job<
  RebuildPlan,
  Record<string, RebuildProgress>,
  Record<string, OpenRange>,
  RebuildCounts
>;
