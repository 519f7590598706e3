import { delay } from '../../platform/backoff.ts';
import type { Log } from '../../platform/log.ts';
import { commandOf } from './command-of.ts';
import { LEASE_MS, type OperationQueue, type OwnedOperation } from './operation-queue.ts';
import { operationEnd, type CommandEnd } from './result-of.ts';

interface WorkerPorts {
  queue: Pick<OperationQueue, 'claim' | 'renew' | 'end' | 'release'>;
  run: (line: readonly string[], options: { stop: AbortSignal }) => Promise<CommandEnd>;
  log: Log;
}

/** A member who asked waits for this, ms. */
const POLL_MS = 1000;
const RENEW_MS = LEASE_MS / 15;

interface Share {
  isLong: boolean;
  /** Commands that run at a time. */
  most: number;
  signal: AbortSignal;
}

/** Carries out operations until `signal` aborts and their commands have stopped. */
export async function work(ports: WorkerPorts, { isLong, most, signal }: Share): Promise<void> {
  const { queue, log } = ports;
  const running = new Set<Promise<void>>();
  const failed = (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    log.warn({ code: 'operations_waiting' }, `operations wait (${message}); trying again`);
  };
  const hasEnded = () => signal.aborted;
  while (!hasEnded()) {
    try {
      const owned = running.size < most ? await queue.claim({ isLong }) : undefined;
      if (owned) {
        const one = carryOut(ports, owned, signal)
          .catch(failed)
          .finally(() => running.delete(one));
        running.add(one);
        continue;
      }
    } catch (error) {
      if (!hasEnded()) failed(error);
    }
    await delay(POLL_MS, signal).catch(() => undefined);
  }
  await Promise.allSettled(running);
}

/** Runs the command of an operation while this process has its lease. */
async function carryOut(
  { queue, run, log }: WorkerPorts,
  owned: OwnedOperation,
  signal: AbortSignal,
): Promise<void> {
  const { id, accountId, operation } = owned;
  const about = { operation: id, kind: operation.kind, account_id: accountId };
  log.info(about, 'operation started');
  const stop = new AbortController();
  let asked: 'stop' | 'lost' | undefined;
  let renewed = Date.now();
  const watch = setInterval(() => {
    void (async () => {
      try {
        const state = await queue.renew(owned);
        if (state === 'go_on') renewed = Date.now();
        else asked = state;
      } catch {
        // Without PostgreSQL the lease runs out: another process may have it then.
        if (Date.now() - renewed > LEASE_MS) asked = 'lost';
      }
      if (asked) stop.abort();
    })();
  }, RENEW_MS);
  try {
    const end = await run(commandOf(operation, { accountId }), {
      stop: AbortSignal.any([stop.signal, signal]),
    });
    if (asked === 'lost') return;
    if (signal.aborted && asked === undefined && end.code !== 0) {
      await queue.release(owned);
      return;
    }
    const result = operationEnd(operation.kind, {
      ...end,
      isStopped: asked === 'stop' && end.code !== 0,
    });
    await queue.end(owned, result);
    log.info({ ...about, state: result.state }, 'operation ended');
  } finally {
    clearInterval(watch);
  }
}
