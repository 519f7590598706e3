import { backoffDelay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { FrozenRowsDiffer, writeSlice, type SlicePorts } from './chunks/write-slice.ts';
import { AudienceTooLarge, freezeAudience, type FreezePorts } from './freeze/freeze.ts';
import type { TurnOutcome } from './metrics.ts';
import type { LeasedRun } from './run.ts';
import type { RunStore } from './run-store.ts';

export interface TurnPorts extends Omit<FreezePorts, 'store'>, Omit<SlicePorts, 'store'> {
  store: Pick<RunStore, 'checkpoint' | 'extend' | 'fail' | 'recordFrozen' | 'release'>;
  log: Log;
  /** How often the lease is extended, ms. */
  heartbeatMs: number;
  /** A number in [0, 1). */
  random: () => number;
}

/** Until a run whose turn failed is leased again, ms. */
const RETRY_DELAY = { base: 2000, cap: 60_000, min: 500 };
/** Rows that are missing do not come back by themselves: somebody must look. */
const DIFFERS_SECONDS = 60;

/**
 * One turn of a leased run: its audience is frozen, or its next chunks are written. Afterwards the
 * run is given back, or another process has it. Never rejects.
 */
export async function takeTurn(
  run: LeasedRun,
  ports: TurnPorts,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { store, log, heartbeatMs } = ports;
  const facts = { account: run.accountId, campaign: run.campaignId, run: run.id };
  const lost = new AbortController();
  const heartbeat = setInterval(() => {
    store.extend(run).then(
      (isHeld) => {
        if (!isHeld) lost.abort(new Error('another process has leased the run'));
      },
      () => undefined,
    );
  }, heartbeatMs);
  try {
    const outcome = await work(run, ports, AbortSignal.any([signal, lost.signal]));
    if (outcome !== 'written') log.info({ ...facts, outcome }, 'a turn of a run ended');
    return outcome;
  } catch (error) {
    if (lost.signal.aborted) return 'lost';
    if (!signal.aborted) report(error, { log, facts });
    const seconds = signal.aborted ? 0 : retrySeconds(run, { error, random: ports.random() });
    await store.release(run, seconds).catch((failure: unknown) => {
      log.debug({ err: failure, ...facts }, 'a run cannot be given back: its lease ends it');
    });
    return 'error';
  } finally {
    clearInterval(heartbeat);
  }
}

function work(run: LeasedRun, ports: TurnPorts, signal: AbortSignal): Promise<TurnOutcome> {
  const { frozen } = run;
  return frozen
    ? writeSlice({ ...run, frozen }, ports, signal)
    : freezeAudience(run, ports, signal);
}

function retrySeconds(
  { freezeAttempt, frozen }: LeasedRun,
  { error, random }: { error: unknown; random: number },
): number {
  if (error instanceof FrozenRowsDiffer) return DIFFERS_SECONDS;
  const attempt = frozen ? 0 : freezeAttempt - 1;
  return backoffDelay({ ...RETRY_DELAY, attempt, random }) / 1000;
}

function report(error: unknown, { log, facts }: { log: Log; facts: object }): void {
  if (error instanceof FrozenRowsDiffer)
    log.error(
      { err: error, ...facts, code: 'frozen_rows_differ' },
      'the frozen audience of a run is not in ClickHouse as it was counted: its messages wait (docs/on-call.md)',
    );
  else if (error instanceof AudienceTooLarge)
    log.warn(
      { err: error, ...facts, code: 'audience_too_large' },
      'the query of an audience ended at a limit; it is tried again',
    );
  else
    log.warn(
      { err: error, ...facts, code: 'planner_turn' },
      'a run could not be planned further; it is tried again',
    );
}
