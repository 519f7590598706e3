import type { Log } from '../../platform/log.ts';
import { LookInterval } from '../../platform/look-interval.ts';
import type { CommandReport } from '../../platform/operations/operation-wait.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import { commandOf, mayRepeat } from './command-of.ts';
import { LEASE_MS, type OperationQueue, type OwnedOperation } from './operation-queue.ts';
import { operationEnd, type CommandEnd } from './result-of.ts';
import type { RunOptions } from './run-command.ts';

export interface WorkerPorts {
  queue: Pick<
    OperationQueue,
    'claim' | 'renew' | 'end' | 'release' | 'giveBack' | 'sweep' | 'forget'
  >;
  run: (line: readonly string[], options: RunOptions) => Promise<CommandEnd>;
  log: Log;
}

interface Work {
  /** Somebody asked for something. */
  wake: WakeSignal;
  signal: AbortSignal;
}

/** Commands that run at a time: short ones never wait for a rebuild. */
const MAX_COMMANDS = { short: 2, long: 2 } as const;
/** Between two looks at the queue while an operation is open, ms: its process may die. */
const OPEN_POLL_MS = 2000;
/** While none is, and after a minute without one, ms: who asks wakes the process. */
const IDLE_POLL_MS = { busyMs: 20_000, quietMs: 120_000 } as const;
/** A command that waits so long makes room for others, sooner when it has done so before; ms. */
const WAITS_MS = { first: 10_000, again: 2000 } as const;
const FORGET_MS = 3_600_000;
const RENEW_MS = LEASE_MS / 15;
/** Without PostgreSQL for so long the command is stopped: it has ended before the lease, ms. */
const LOST_MS = LEASE_MS / 2;
/** A short command that takes longer waits for something that does not come, ms. */
const MAX_SHORT_MS = 1_800_000;

/** Carries out operations until `signal` aborts and their commands have stopped. */
export async function work(ports: WorkerPorts, { wake, signal }: Work): Promise<void> {
  const { queue, log } = ports;
  const running = { short: new Set<Promise<void>>(), long: new Set<Promise<void>>() };
  const failed = (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    log.warn({ code: 'operations_waiting' }, `operations wait (${message}); trying again`);
  };
  const begin = async (share: 'short' | 'long') => {
    const own = running[share];
    while (own.size < MAX_COMMANDS[share] && !signal.aborted) {
      const owned = await queue.claim({ isLong: share === 'long' });
      if (!owned) return;
      const one = carryOut(ports, owned, { isLong: share === 'long', signal })
        .catch(failed)
        .finally(() => {
          own.delete(one);
          wake.notify();
        });
      own.add(one);
    }
  };
  const idle = new LookInterval({ ...IDLE_POLL_MS, now: () => performance.now() });
  let forgotten = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    let rest: number | undefined = 0;
    try {
      rest = await queue.sweep();
      if (rest !== undefined) await begin('short');
      if (rest !== undefined) await begin('long');
      if (performance.now() - forgotten > FORGET_MS) {
        await queue.forget();
        forgotten = performance.now();
      }
    } catch (error) {
      failed(error);
    }
    const longest = idle.after({ hasFound: rest !== undefined });
    const pause = rest === undefined ? longest : Math.min(longest, Math.max(OPEN_POLL_MS, rest));
    await wake.wait(pause, signal);
  }
  await Promise.allSettled([...running.short, ...running.long]);
}

/** Why a command was stopped, besides the end of this process. */
type Asked = 'stop' | 'lost' | 'late' | 'waits';

/** Runs the command of an operation while this process has its lease. */
async function carryOut(
  { queue, run, log }: WorkerPorts,
  owned: OwnedOperation,
  { isLong, signal }: { isLong: boolean; signal: AbortSignal },
): Promise<void> {
  const { id, accountId, operation, epoch, erasure, hasWaited } = owned;
  const isRepeated = epoch > 1;
  if (isRepeated && !mayRepeat(operation)) {
    const error = 'a process ended while it worked on it: look whether it was done, and ask again';
    await queue.end(owned, { state: 'failed', result: undefined, error });
    return;
  }
  const about = { operation: id, kind: operation.kind, account_id: accountId };
  log.info(about, 'operation started');
  const stop = new AbortController();
  let asked: Asked | undefined;
  const ask = (why: Asked) => {
    asked ??= why;
    stop.abort();
  };
  let report: CommandReport = {};
  let waiting: NodeJS.Timeout | undefined;
  const onReport = (news: CommandReport) => {
    report = { ...report, ...news };
    if (news.waits === undefined) return;
    if (news.waits.length > 0)
      waiting ??= setTimeout(() => ask('waits'), hasWaited ? WAITS_MS.again : WAITS_MS.first);
    else {
      clearTimeout(waiting);
      waiting = undefined;
    }
  };
  let renewed = performance.now();
  const watch = setInterval(() => {
    // Another process may have it when the lease has run out.
    if (performance.now() - renewed > LOST_MS) ask('lost');
    const at = performance.now();
    queue.renew(owned, report).then(
      (state) => {
        if (state === 'go_on') renewed = Math.max(renewed, at);
        else ask(state);
      },
      () => undefined,
    );
  }, RENEW_MS);
  const late = isLong ? undefined : setTimeout(() => ask('late'), MAX_SHORT_MS);
  try {
    const end = await run(commandOf(operation, { accountId, isRepeated, erasure }), {
      ...{ stop: AbortSignal.any([stop.signal, signal]), onReport },
    });
    if (asked === 'lost') return;
    if (asked === 'waits' && end.code !== 0) {
      await queue.giveBack(owned, report);
      return;
    }
    if (signal.aborted && asked === undefined && end.code !== 0) {
      await queue.release(owned);
      return;
    }
    const result = operationEnd(operation.kind, {
      ...end,
      isStopped: asked !== undefined && end.code !== 0,
    });
    await queue.end(owned, asked === 'late' ? tooLate(result) : result);
    log.info({ ...about, state: result.state }, 'operation ended');
  } finally {
    clearInterval(watch);
    clearTimeout(waiting);
    clearTimeout(late);
  }
}

function tooLate<End extends { state: string }>(end: End): End {
  if (end.state !== 'stopped') return end;
  return { ...end, state: 'failed', error: 'it took longer than half an hour and was stopped' };
}
