import type { Store } from '../store.ts';

/** A replay or rebuild, of a member's operation or of a command on the server. */
export interface LogJob {
  id: number;
  kind: 'replay' | 'rebuild';
  /** As ./ravand is given it. */
  command: string;
  /** The table that it writes. */
  target: string;
  state: 'running' | 'finished' | 'cancelled';
  /** What it has read and written so far; its fields depend on the kind. */
  counts: Readonly<Record<string, unknown>>;
  started_at: string;
  updated_at: string;
  finished_at: string | null;
}

const SHOWN = 20;

/** Replays and rebuilds, newest first (table log_jobs). */
export function jobStore(store: Store) {
  return {
    async list(): Promise<LogJob[]> {
      const { rows } = await store.query<
        Omit<LogJob, 'id' | 'started_at' | 'updated_at' | 'finished_at'> & {
          id: string;
          started_at: Date;
          updated_at: Date;
          finished_at: Date | null;
        }
      >(
        `SELECT id, kind, command, target, state, counts, started_at, updated_at, finished_at FROM log_jobs ORDER BY state = 'running' DESC, id DESC LIMIT ${SHOWN}`,
        [],
      );
      return rows.map(({ id, started_at, updated_at, finished_at, ...job }) => ({
        ...{ id: Number(id), ...job },
        started_at: started_at.toISOString(),
        updated_at: updated_at.toISOString(),
        finished_at: finished_at?.toISOString() ?? null,
      }));
    },
  };
}

export type JobStore = ReturnType<typeof jobStore>;
