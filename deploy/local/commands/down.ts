import { rmSync } from 'node:fs';
import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import type { Home } from '../../../cli/stack/home.ts';
import { readJsonFile } from '../../../cli/json-file.ts';
import { allGone, endOrphanedProcesses } from '../orphaned-processes.ts';
import { signalProcess, type ProcessIdentity } from '../../../cli/stack/process-identity.ts';
import { requestSupervisor, runningSupervisor } from '../../../cli/stack/control-client.ts';
import { print } from '../../../cli/terminal.ts';

const SILENCE_MS = 90_000;
const EXIT_MS = 10_000;

export const down: Command = {
  name: 'down',
  summary: 'stops everything; data stays',
  usage: 'down',
  run: async (args, { home }) => {
    parseLine({ args, options: {}, usage: 'down' });
    print(await bringDown(home));
    return 0;
  },
};

/** Ends a stack in whatever state it is, and answers with a sentence about it. */
export async function bringDown(home: Home): Promise<string> {
  const supervisor = runningSupervisor(home);
  if (supervisor) {
    await requestSupervisor({ home, request: { command: 'down' }, silence: SILENCE_MS }).catch(
      async (error: unknown) => {
        if (!(error instanceof CommandError)) throw error;
        await insist(supervisor);
      },
    );
    if (!(await allGone([supervisor], EXIT_MS))) await insist(supervisor);
  }
  const left = await endOrphanedProcesses(home);
  forget(home);
  if (supervisor === undefined && left.length > 0)
    return `the supervisor had died; ended what it left running: ${left.join(', ')}`;
  return supervisor === undefined ? 'nothing was running' : 'everything is stopped';
}

/** A supervisor that does not answer is ended; what it leaves is ended after it. */
async function insist(supervisor: ProcessIdentity): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    signalProcess(supervisor, signal);
    if (await allGone([supervisor], signal === 'SIGTERM' ? 60_000 : EXIT_MS)) return;
  }
  throw new CommandError(
    `the supervisor (pid ${supervisor.pid}) does not end, not even by SIGKILL`,
  );
}

/** Removes what tells of a running stack. */
export function forget(home: Home): void {
  for (const file of [home.readyFile, home.supervisorFile, home.processesFile, home.socket])
    rmSync(file, { force: true });
}

/** Whether a supervisor died without taking leave. */
export function diedSupervisor(home: Home): boolean {
  return (
    readJsonFile<ProcessIdentity>(home.supervisorFile) !== undefined &&
    runningSupervisor(home) === undefined
  );
}
