import type { ExportFiles } from '../../platform/files/folder-files.ts';
import { backoffDelay, delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { ExportJob, ExportStore } from './export-store.ts';
import { RowCounter } from './row-counter.ts';
import { ExportImpossible, fileName, runJob, type JobTools } from './run-job.ts';
import { expireExports, removeOrphans } from './sweep.ts';

const IDLE_MS = 1000;
/** Exports that another process queued or released are looked for this often, ms. */
const OTHERS_MS = 5000;
const HEARTBEAT_MS = 3000;
const SWEEP_MS = 60_000;
const MAX_FAILURES = 3;
const RETRY_DELAY = { base: 5000, cap: 60_000 };
/** The error of a job that failed after all attempts. */
const FAILED_FOR_GOOD = 'the export could not be written; request it again';

export interface WorkerOptions {
  /** Jobs at a time. */
  workers: number;
  store: ExportStore;
  files: ExportFiles;
  tools: JobTools;
  log: Log;
  /** Stops the workers; they release their current jobs. */
  signal: AbortSignal;
}

/**
 * Runs jobs until the signal aborts, at most one of an account at a time. Several processes may run
 * workers: a job belongs to the worker that claimed it last.
 */
export async function runExportWorkers(options: WorkerOptions): Promise<void> {
  const { store, signal } = options;
  let orphansAreGone = false;
  const sweeping = repeat(options, async () => {
    if (!orphansAreGone) await removeOrphans(options);
    orphansAreGone = true;
    await expireExports(options);
    await delay(SWEEP_MS, signal);
  });
  // While nothing is due, one worker asks for all, for what other processes left.
  let nothing = { until: Number.NEGATIVE_INFINITY, queued: 0 };
  const claim = async () => {
    const { queued } = store;
    if (performance.now() < nothing.until && queued === nothing.queued) return undefined;
    nothing = { until: performance.now() + OTHERS_MS, queued };
    const job = await store.claim();
    if (job) nothing.until = Number.NEGATIVE_INFINITY;
    return job;
  };
  const working = Array.from({ length: options.workers }, () =>
    repeat(options, async () => {
      const job = await claim();
      if (job) await work(job, options);
      else await delay(IDLE_MS, signal);
    }),
  );
  await Promise.all([sweeping, ...working]);
}

/** Repeats a step until the signal aborts; after a failure, later. */
async function repeat({ log, signal }: WorkerOptions, step: () => Promise<void>): Promise<void> {
  const isEnding = () => signal.aborted;
  while (!isEnding()) {
    try {
      await step();
    } catch (error) {
      if (isEnding()) return;
      log.warn({ err: error, code: 'export_store' }, 'the export store is unavailable; retrying');
      await delay(
        IDLE_MS + backoffDelay({ ...RETRY_DELAY, attempt: 0, random: Math.random() }),
        signal,
      ).catch(() => undefined);
    }
  }
}

async function work(job: ExportJob, options: WorkerOptions): Promise<void> {
  const { store, files, tools, log, signal } = options;
  // the partial file of an attempt whose worker stopped
  if (job.attempt > 1) await files.remove(fileName({ ...job, attempt: job.attempt - 1 }));
  if (job.failures >= MAX_FAILURES) {
    await store.fail(job, FAILED_FOR_GOOD);
    return;
  }
  const counter = new RowCounter(job.format);
  const lost = new AbortController();
  const heartbeat = setInterval(() => {
    store.progress(job, counter).then(
      (held) => {
        if (!held) lost.abort(new Error('another worker has claimed the job'));
      },
      () => undefined,
    );
  }, HEARTBEAT_MS);
  try {
    const storedBytes = await store.storedBytes(job.accountId);
    const run = AbortSignal.any([signal, lost.signal]);
    await runJob({ job, counter, storedBytes, now: Date.now(), signal: run }, tools);
    const { rows, bytes } = counter;
    if (await store.finish(job, { rows, bytes, file: fileName(job) }))
      log.info({ export_id: job.id, rows, bytes }, 'an export is ready');
    else await files.remove(fileName(job));
  } catch (error) {
    await handleFailure(job, { error, options, isLost: lost.signal.aborted });
  } finally {
    clearInterval(heartbeat);
  }
}

async function handleFailure(
  job: ExportJob,
  { error, options, isLost }: { error: unknown; options: WorkerOptions; isLost: boolean },
): Promise<void> {
  const { store, log, signal } = options;
  if (isLost) return;
  if (signal.aborted) {
    await store.release(job, { delay: 0, isFailure: false });
    return;
  }
  const failures = job.failures + 1;
  log.warn(
    {
      err: error,
      code: 'export_failed',
      export_id: job.id,
      account_id: job.accountId,
      attempt: failures,
    },
    'an export attempt failed',
  );
  if (error instanceof ExportImpossible) await store.fail(job, error.message);
  else if (failures >= MAX_FAILURES) await store.fail(job, FAILED_FOR_GOOD);
  else {
    const retry = backoffDelay({ ...RETRY_DELAY, attempt: failures, random: Math.random() });
    await store.release(job, { delay: RETRY_DELAY.base + retry, isFailure: true });
  }
}
