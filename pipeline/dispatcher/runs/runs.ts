import type { Registry } from 'prom-client';
import { sweepCaps } from '../../../messaging/caps/sweep-caps.ts';
import type { AdminPages } from '../../../platform/admin-server.ts';
import { delay } from '../../../platform/backoff.ts';
import type { Log } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { WakeSignal } from '../../../platform/wake-signal.ts';
import { readMessageBalance, type MessageBalance, waitingMessages } from './balance.ts';
import { finishRuns, planMissingChunks } from './finish-runs.ts';
import { runsMetrics } from './metrics.ts';
import { sweepEndedRuns } from './sweep.ts';

const FINISH_MS = 2000;
const MEASURE_MS = 15_000;
const SWEEP_MS = 60_000;
/** Chunks that are not in the queue so long after they were written are missing, ms. */
const MISSING_MS = 600_000;
/** Reservations of frequency caps that one statement removes. */
const CAPS = 5000;

export interface RunsDeps {
  database: Pick<Database, 'query'>;
  log: Log;
  registry: Registry;
  /** Between two looks for runs that have ended while nobody calls `wake`, ms. */
  idleMs: number;
}

export interface Runs {
  start(): void;
  /** Runs may have ended. */
  wake(): void;
  stop(): Promise<void>;
}

/**
 * Ends runs in which everybody has an outcome, measures the balance of messages, and removes what
 * ended runs needed. Several processes may do so.
 */
export function openRuns({ database, log, registry, idleMs }: RunsDeps): Runs {
  const metrics = runsMetrics(registry);
  const ending = new AbortController();
  const { signal } = ending;
  const finish = async () => {
    for (const { id, campaignId, accountId, state } of await finishRuns(database)) {
      metrics.ended(state, 1);
      log.info({ account: accountId, campaign: campaignId, run: id, state }, 'a run has ended');
    }
  };
  const reports = gapReports(log);
  const measure = async () => {
    const balance = await readMessageBalance(database);
    metrics.measured(balance, await waitingMessages(database));
    reports(balance);
  };
  const sweep = async () => {
    await sweepEndedRuns(database, signal);
    while (!signal.aborted && (await sweepCaps(database, CAPS)) === CAPS);
  };
  const planAgain = async () => {
    const runs = await planMissingChunks(database, MISSING_MS);
    if (runs.length === 0) return;
    metrics.plannedAgain(runs.length);
    log.warn(
      { code: 'chunks_missing', runs },
      'chunks of runs did not arrive from messages.planned: the planner writes them again',
    );
  };
  const wake = new WakeSignal();
  const untilWoken = () => wake.wait(idleMs, signal);
  let chores: Promise<unknown> | undefined;
  return {
    wake: () => wake.notify(),
    start() {
      const context = { log, signal };
      chores ??= Promise.all([
        repeat({ ...context, everyMs: FINISH_MS, untilDue: untilWoken }, finish),
        repeat({ ...context, everyMs: MEASURE_MS }, measure),
        repeat({ ...context, everyMs: SWEEP_MS }, sweep),
        // The first time comes late: what waits in the log is copied before.
        repeat({ ...context, everyMs: MISSING_MS, isLate: true }, planAgain),
      ]);
    },
    async stop() {
      ending.abort();
      await chores;
    },
  };
}

/** What `./ravand status` shows: the balance of all messages of campaigns, or of an account. */
export function messagesPage(database: Pick<Database, 'query'>): AdminPages {
  return {
    '/messages': async (query) => {
      const account = query.get('account');
      const balance = await readMessageBalance(
        database,
        account === null ? undefined : Number(account),
      );
      return { contentType: 'application/json', body: JSON.stringify(balance) };
    },
  };
}

/** Logs a gap when it is found, and when it has changed. */
function gapReports(log: Log): (balance: MessageBalance) => void {
  let reported = '';
  return ({ gap, runs, accounts }) => {
    const found =
      gap + runs.length + accounts.length === 0 ? '' : JSON.stringify({ runs, accounts });
    if (found !== '' && found !== reported)
      log.error(
        { code: 'message_balance', gap, runs, accounts },
        'planned messages are not the sum of their outcomes and those in flight (docs/on-call.md)',
      );
    reported = found;
  };
}

/**
 * Does a chore until the signal aborts, at most once in `everyMs`, and when it is due. Never
 * rejects.
 */
async function repeat(
  options: {
    log: Log;
    signal: AbortSignal;
    everyMs: number;
    untilDue?: () => Promise<void>;
    isLate?: boolean;
  },
  chore: () => Promise<void>,
): Promise<void> {
  const { log, signal, everyMs, untilDue, isLate = false } = options;
  const pause = (): Promise<unknown> =>
    delay(everyMs, signal)
      .catch(() => undefined)
      .then(untilDue);
  if (isLate) await pause();
  for (let failures = 0; !signal.aborted; await pause())
    try {
      await chore();
      failures = 0;
    } catch (error) {
      // The first failure, then every 60th.
      if (failures++ % 60 === 0)
        log.warn(
          { err: error, code: 'runs_waiting' },
          'runs of campaigns cannot be read or written in PostgreSQL; retrying',
        );
    }
}
