import type { LeasedRun } from '../run.ts';
import type { RunStore } from '../run-store.ts';
import { audienceOf, type FindSegment } from './audience-of.ts';
import type { FreezeQuery } from './compile.ts';

/** Rows of a frozen audience, and the state of the account's identities that they belong to. */
export interface FrozenRows {
  people: number;
  identitiesRevision: number;
}

export interface FreezePorts {
  store: Pick<RunStore, 'recordFrozen' | 'fail'>;
  findSegment: FindSegment;
  /** Writes the rows of an attempt. Rejects with AudienceTooLarge, or when ClickHouse fails. */
  freezeRows: (query: FreezeQuery, signal: AbortSignal) => Promise<FrozenRows>;
  /** ms since the epoch */
  now: () => number;
}

/** ClickHouse ended the query of an audience at one of its limits. */
export class AudienceTooLarge extends Error {
  override readonly name = 'AudienceTooLarge';
}

/** What became of a freeze. `lost`: another process has the run. */
export type FreezeOutcome = 'frozen' | 'failed' | 'lost';

/** Queries of one audience that may end at a limit before its run fails. */
const MAX_ATTEMPTS = 5;

const TOO_LARGE =
  'The audience needs more memory or time than one query may take. Narrow it, or send to parts of it.';

/**
 * Freezes the audience of a run: one query writes its rows under the attempt that the lease has
 * stored, then one statement makes them the run's. Whatever a process leaves behind when it dies in
 * between belongs to an attempt that no run names.
 */
export async function freezeAudience(
  run: LeasedRun,
  { store, findSegment, freezeRows, now }: FreezePorts,
  signal: AbortSignal,
): Promise<FreezeOutcome> {
  const { accountId, campaignId, id: runId, freezeAttempt: attempt } = run;
  const fail = async (message: string) => ((await store.fail(run, message)) ? 'failed' : 'lost');
  const found = await audienceOf(run, findSegment);
  if (!found.ok) return fail(found.message);
  const { audience, definition, percent } = found;
  const at = now();
  let rows: FrozenRows;
  try {
    rows = await freezeRows(
      { accountId, campaignId, runId, attempt, audience, percent, at },
      signal,
    );
  } catch (error) {
    if (error instanceof AudienceTooLarge && attempt >= MAX_ATTEMPTS) return fail(TOO_LARGE);
    throw error;
  }
  const frozen = { audience: definition, identities_revision: rows.identitiesRevision };
  const isRecorded = await store.recordFrozen(run, { at, people: rows.people, frozen });
  return isRecorded ? 'frozen' : 'lost';
}
