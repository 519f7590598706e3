import { delay, retry } from '../../../platform/backoff.ts';
import { CommandError } from '../../../cli/command.ts';
import type { LogLayout } from '../../../platform/log/layout.ts';
import { forgetFormerWriters } from '../../../platform/log/writers.ts';
import { requireAgreedLog } from '../agreed-log.ts';
import { isCancellable, nextStep, type GrowthStep, type GrowthView } from './plan.ts';
import { GROWING, layoutOf, readView } from './read-view.ts';
import { cancelGrowth, takeStep, type GrowthServers } from './steps.ts';

export interface GrowthRequest {
  partitions: number;
  /** A phase that can be cancelled may take so long, ms; then the growth is cancelled. */
  timeout: number;
  stop: AbortSignal;
  /** Go on without writers that ended before the last change of the layout. */
  forget: boolean;
  /** Receives each step, and what is waited for whenever that changes. */
  report: (sentence: string) => void;
}

export interface GrowthResult {
  from: number;
  to: number;
  generation: number;
  /** Time in which writers held their records, ms. */
  held: number;
}

const POLL = 250;
/** Without any progress after the marks for this long, the command ends; the next one continues. */
const SILENCE = 600_000;

const SENTENCES: Record<Exclude<GrowthStep['step'], 'wait'>, string> = {
  begin: 'the growth begins',
  create: 'the partitions are created',
  hold: 'writers hold new records in their spools',
  switch: 'from here on the growth can only be completed',
  mark: 'the new epoch begins in every partition of events.raw',
  drain: 'every group processes what lies before it',
  finish: 'the new number of partitions applies, writers release their records',
  done: 'the log has this number of partitions',
};

/** Throws CommandError when the number cannot be grown to. */
export async function checkGrowth(servers: GrowthServers, partitions: number): Promise<GrowthView> {
  const view = await readView(servers, partitions);
  const { layout, counts } = view;
  if (layout.phase !== 'steady' && layout.change?.['kind'] !== 'grow')
    throw new CommandError('another change of the log is in progress: complete it first');
  if (layout.phase !== 'steady' && layout.nextPartitions !== partitions)
    throw new CommandError(
      `a growth to ${layout.nextPartitions ?? 0} partitions is in progress: complete it with --partitions ${layout.nextPartitions ?? 0}, or go back with --cancel`,
    );
  if (partitions < layout.partitions)
    throw new CommandError(
      `the log has ${layout.partitions} partitions: their number cannot become smaller`,
    );
  const most = Math.max(...counts.values());
  if (most > partitions && partitions > layout.partitions)
    throw new CommandError(
      `Kafka has ${most} partitions of ${GROWING.filter((topic) => counts.get(topic) === most).join(' and ')} already: give --partitions ${most} or more`,
    );
  return view;
}

/** Grows the log step by step, also from where a killed command stopped. */
export async function grow(servers: GrowthServers, request: GrowthRequest): Promise<GrowthResult> {
  const { partitions, stop, report } = request;
  const { layout: first } = await again(() => checkGrowth(servers, partitions));
  const from = first.partitions;
  // In a log that went back, the marks would lie before what was read already.
  if (first.phase === 'steady') await again(() => requireAgreedLog(servers, GROWING));
  if (request.forget) await again(() => forgetFormerWriters(servers.database));
  let since = performance.now();
  let heldSince: number | undefined;
  let held = 0;
  let last = '';
  const say = (sentence: string) => {
    if (sentence !== last) report(sentence);
    last = sentence;
  };
  for (;;) {
    const view = await again(() => readView(servers, partitions));
    const { layout } = view;
    if (layout.phase !== 'steady' && layout.phase !== 'preparing') heldSince ??= performance.now();
    const step = nextStep(view);
    if (step.step === 'done') {
      if (heldSince !== undefined) held = performance.now() - heldSince;
      return { from, to: partitions, generation: layout.generation, held: Math.round(held) };
    }
    if (step.step === 'wait') {
      say(`waiting for ${step.for.join('; for ')}`);
      const limit = isCancellable(layout) ? request.timeout : SILENCE;
      if (performance.now() - since > limit || (stop.aborted && isCancellable(layout)))
        await giveUp(servers, { layout, waitsFor: step.for, isStopped: stop.aborted });
      if (stop.aborted) throw stopped();
      await delay(POLL, stop).catch(() => undefined);
      continue;
    }
    if (stop.aborted && isCancellable(layout))
      await giveUp(servers, { layout, waitsFor: [], isStopped: true });
    since = performance.now();
    await again(() => takeStep(servers, { step, view }));
    say(SENTENCES[step.step]);
  }
}

/**
 * A server that does not answer for a moment does not end the command: steps may be repeated.
 * Hundreds of new partitions have no leader for a while, on a busy broker for half a minute.
 */
const ATTEMPTS = 20;
function again<T>(step: () => Promise<T>): Promise<T> {
  const isFinal = (error: unknown) => error instanceof CommandError;
  return retry({ base: 500, cap: 5000, min: 250, attempts: ATTEMPTS, isFinal }, step);
}

/** Goes back to the former number. Throws CommandError when the marks are being written. */
export async function cancel(servers: GrowthServers): Promise<LogLayout> {
  const layout = await layoutOf(servers);
  if (layout.phase === 'steady') throw new CommandError('no growth is in progress');
  if (layout.change?.['kind'] !== 'grow' || !isCancellable(layout))
    throw new CommandError(
      `the growth to ${layout.nextPartitions ?? 0} partitions can only be completed: run ./ravand log grow --partitions ${layout.nextPartitions ?? 0}`,
    );
  await cancelGrowth(servers.database, layout);
  return layoutOf(servers);
}

/** Always throws CommandError: cancelled, or to be continued by the next command. */
async function giveUp(
  servers: GrowthServers,
  of: { layout: LogLayout; waitsFor: readonly string[]; isStopped: boolean },
): Promise<void> {
  const { layout, waitsFor, isStopped } = of;
  const why = isStopped ? 'stopped' : `it waited too long for ${waitsFor.join('; for ')}`;
  if (!isCancellable(layout))
    throw new CommandError(
      `${why}. Writers hold their records until the growth is complete: run the same command again`,
    );
  await cancelGrowth(servers.database, layout);
  throw new CommandError(`${why}. The growth was cancelled: ${layout.partitions} partitions apply`);
}

function stopped(): CommandError {
  return new CommandError(
    'stopped. Writers hold their records until the growth is complete: run the same command again',
  );
}
