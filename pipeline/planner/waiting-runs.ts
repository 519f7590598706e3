import type { Database } from '../../platform/postgres/pool.ts';
import { WAITING } from './statements.ts';

/** Runs of active accounts that wait. */
export interface WaitingRuns {
  /** Due, and not started. */
  due: number;
  planning: number;
  /** For a person, because they are late. */
  confirm: number;
  /** For how long the run has been due that is due for longest and not planned; 0 without one. */
  late_seconds: number;
}

/** A run that is due for so long and not planned is a warning, s. */
export const LATE_WARNING_SECONDS = 300;

export async function waitingRuns(database: Pick<Database, 'query'>): Promise<WaitingRuns> {
  const { rows } = await database.query<WaitingRuns>(WAITING);
  return rows[0] ?? { due: 0, planning: 0, confirm: 0, late_seconds: 0 };
}
