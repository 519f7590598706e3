import type { ExportFiles } from '../../platform/files/folder-files.ts';
import { backoffDelay, delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import type { ExportJob, ExportStore } from './export-store.ts';
import { RowCounter } from './row-counter.ts';
import { ExportImpossible, fileName, runJob, type JobTools } from './run-job.ts';

const IDLE_MS = 1000;
const HEARTBEAT_MS = 3000;
const SWEEP_MS = 60_000;
const MAX_ATTEMPTS = 3;
const RETRY_DELAY = { base: 5000, cap: 60_000 };
/** The error of a job that failed after all attempts. */
const FAILED_FOR_GOOD = 'the export could not be written; request it again';

export interface WorkerOptions {
  store: ExportStore;
  files: ExportFiles;
  tools: JobTools;
  log: Log;
  /** Stops the worker; it releases its current job. */
  signal: AbortSignal;
}

/**
 * Runs one job after the other until the signal aborts. Several processes may run workers: a job
 * belongs to the worker that claimed it last.
 */
export async function runExportWorker(options: WorkerOptions): Promise<void> {
  const { store, log, signal } = options;
  let sweptAt = 0;
  const isEnding = () => signal.aborted;
  while (!isEnding()) {
    try {
      if (Date.now() - sweptAt > SWEEP_MS) {
        await sweep(options);
        sweptAt = Date.now();
      }
      const job = await store.claim();
      if (job) await work(job, options);
      else await delay(IDLE_MS, signal);
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

async function sweep({ store, files, log }: WorkerOptions): Promise<void> {
  for (const file of await store.expire()) {
    await files.remove(file);
    log.info({ file }, 'an export expired; its file is deleted');
  }
}

async function work(job: ExportJob, options: WorkerOptions): Promise<void> {
  const { store, files, tools, log, signal } = options;
  // the partial file of an attempt whose worker stopped
  if (job.attempt > 1) await files.remove(fileName({ ...job, attempt: job.attempt - 1 }));
  if (job.attempt > MAX_ATTEMPTS) {
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
    await runJob(
      { job, counter, now: Date.now(), signal: AbortSignal.any([signal, lost.signal]) },
      tools,
    );
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
    await store.release(job, 0);
    return;
  }
  log.warn(
    {
      err: error,
      code: 'export_failed',
      export_id: job.id,
      account_id: job.accountId,
      attempt: job.attempt,
    },
    'an export attempt failed',
  );
  if (error instanceof ExportImpossible) await store.fail(job, error.message);
  else if (job.attempt >= MAX_ATTEMPTS) await store.fail(job, FAILED_FOR_GOOD);
  else
    await store.release(
      job,
      RETRY_DELAY.base +
        backoffDelay({ ...RETRY_DELAY, attempt: job.attempt, random: Math.random() }),
    );
}
