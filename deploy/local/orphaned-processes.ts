import type { Home } from '../../cli/stack/home.ts';
import { readJsonFile } from '../../cli/json-file.ts';
import { isAlive, signalProcess, type ProcessIdentity } from '../../cli/stack/process-identity.ts';

const TERM_MS = 15_000;
const KILL_MS = 5000;
const LOOK_MS = 50;

export type Processes = Record<string, ProcessIdentity>;

/**
 * Parts that still run although their supervisor died: recorded by id and start, so that nobody
 * else's process is ever taken for one.
 */
export function orphanedProcesses(home: Home): Processes {
  const recorded = readJsonFile<Processes>(home.processesFile) ?? {};
  return Object.fromEntries(Object.entries(recorded).filter(([, identity]) => isAlive(identity)));
}

/** Ends them, politely first. Answers the names; throws when one does not end. */
export async function endOrphanedProcesses(home: Home): Promise<string[]> {
  const left = orphanedProcesses(home);
  const identities = Object.values(left);
  for (const identity of identities) signalProcess(identity, 'SIGTERM');
  if (!(await allGone(identities, TERM_MS))) {
    for (const identity of identities) signalProcess(identity, 'SIGKILL');
    if (!(await allGone(identities, KILL_MS)))
      throw new Error(`these do not end: ${JSON.stringify(orphanedProcesses(home))}`);
  }
  return Object.keys(left);
}

/** Waits until none of them runs, for so long at most. */
export async function allGone(
  identities: readonly ProcessIdentity[],
  ms: number,
): Promise<boolean> {
  const end = Date.now() + ms;
  while (identities.some((identity) => isAlive(identity))) {
    if (Date.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return true;
}
