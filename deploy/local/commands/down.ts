import { rmSync } from 'node:fs';
import { parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import type { Home } from '../../../cli/stack/home.ts';
import { readJsonFile } from '../../../cli/json-file.ts';
import { auditStack } from '../audit-stack.ts';
import { waitForExit, endOrphanedProcesses } from '../orphaned-processes.ts';
import { signalProcess, type ProcessIdentity } from '../../../cli/stack/process-identity.ts';
import { requestSupervisor, runningSupervisor } from '../../../cli/stack/control-client.ts';
import { print } from '../../../cli/terminal.ts';

const SILENCE_MS = 90_000;
const EXIT_MS = 10_000;

export const down: Command = {
  name: 'down',
  summary: 'stops everything; the data is kept',
  usage: 'down',
  run: async (args, { home }) => {
    parseLine({ args, options: {} });
    if (runningSupervisor(home)) await auditStack(home, { action: 'stack.stopped', details: {} });
    print(await bringDown(home));
    return 0;
  },
};

/** Stops a stack in any state, and returns a sentence about it. */
export async function bringDown(home: Home): Promise<string> {
  const supervisor = runningSupervisor(home);
  if (supervisor) {
    await requestSupervisor({ home, request: { command: 'down' }, silence: SILENCE_MS }).catch(
      async (error: unknown) => {
        if (!(error instanceof CommandError)) throw error;
        await endSupervisor(supervisor);
      },
    );
    if (!(await waitForExit([supervisor], EXIT_MS))) await endSupervisor(supervisor);
  }
  const left = await endOrphanedProcesses(home);
  removeRunFiles(home);
  if (supervisor === undefined && left.length > 0)
    return `the supervisor had died; stopped the services it left running: ${left.join(', ')}`;
  return supervisor === undefined ? 'nothing was running' : 'everything is stopped';
}

/** Ends a supervisor that does not answer; its services are ended afterwards. */
async function endSupervisor(supervisor: ProcessIdentity): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    signalProcess(supervisor, signal);
    if (await waitForExit([supervisor], signal === 'SIGTERM' ? 60_000 : EXIT_MS)) return;
  }
  throw new CommandError(
    `the supervisor (pid ${supervisor.pid}) does not end, not even after SIGKILL`,
  );
}

/** Removes the files that mark a running stack. */
export function removeRunFiles(home: Home): void {
  for (const file of [home.readyFile, home.supervisorFile, home.processesFile, home.socket])
    rmSync(file, { force: true });
}

/** Whether the supervisor died without a shutdown. */
export function supervisorDied(home: Home): boolean {
  return (
    readJsonFile<ProcessIdentity>(home.supervisorFile) !== undefined &&
    runningSupervisor(home) === undefined
  );
}
