import { setTimeout as wait } from 'node:timers/promises';
import type { Home } from '../../cli/stack/home.ts';
import { readJsonFile } from '../../cli/json-file.ts';
import { isAlive, signalProcess, type ProcessIdentity } from '../../cli/stack/process-identity.ts';

const TERM_MS = 15_000;
const KILL_MS = 5000;
const POLL_MS = 50;

export type Processes = Record<string, ProcessIdentity>;

/**
 * Services that still run although their supervisor died. Recorded by process id and start time:
 * no other process is mistaken for one.
 */
export function orphanedProcesses(home: Home): Processes {
  const recorded = readJsonFile<Processes>(home.processesFile) ?? {};
  return Object.fromEntries(Object.entries(recorded).filter(([, identity]) => isAlive(identity)));
}

/** Ends them with SIGTERM, then SIGKILL. Returns their names; throws when one does not end. */
export async function endOrphanedProcesses(home: Home): Promise<string[]> {
  const left = orphanedProcesses(home);
  const identities = Object.values(left);
  for (const identity of identities) signalProcess(identity, 'SIGTERM');
  if (!(await waitForExit(identities, TERM_MS))) {
    for (const identity of identities) signalProcess(identity, 'SIGKILL');
    if (!(await waitForExit(identities, KILL_MS)))
      throw new Error(`these do not end: ${JSON.stringify(orphanedProcesses(home))}`);
  }
  return Object.keys(left);
}

/** Waits until none of them runs, for `ms` at most. Returns whether all ended. */
export async function waitForExit(
  identities: readonly ProcessIdentity[],
  ms: number,
): Promise<boolean> {
  const end = Date.now() + ms;
  while (identities.some((identity) => isAlive(identity))) {
    if (Date.now() > end) return false;
    await wait(POLL_MS);
  }
  return true;
}
