import { CommandError } from '../../cli/command.ts';
import { readLayout, type LogLayout } from '../../platform/log/layout.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { isCancellable } from './grow/plan.ts';

/** Throws CommandError while a growth or the rewriting of a topic is in progress. */
export async function requireSteadyLog(database: Pick<Database, 'query'>): Promise<void> {
  const layout = await readLayout(database);
  const change = layout && changeInProgress(layout);
  if (change !== undefined) throw new CommandError(change);
}

/** The change in progress and how to end it, in one sentence; undefined: there is none. */
export function changeInProgress(
  layout: Pick<LogLayout, 'phase' | 'change' | 'nextPartitions'>,
): string | undefined {
  if (layout.phase === 'steady') return undefined;
  const { change, nextPartitions: next = 0 } = layout;
  if (change?.['kind'] === 'rewrite')
    return `${String(change['topic'])} is being rewritten: complete it first with ./ravand erase rewrite`;
  const complete = `the log grows to ${next} partitions: complete it first with ./ravand log grow --partitions ${next}`;
  return isCancellable(layout)
    ? `${complete}, or go back with ./ravand log grow --cancel`
    : complete;
}
