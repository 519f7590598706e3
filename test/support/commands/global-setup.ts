import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { COMMANDS_SOCKET } from './run-command.ts';

/** Starts the process of the run's commands; with --watch a new one when a file has changed. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-commands-'));
  const socket = join(folder, 'socket');
  let child = await start(socket);
  process.env[COMMANDS_SOCKET] = socket;
  project.onTestsRerun(async () => {
    await end(child);
    child = await start(socket);
  });
  return async () => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
}

async function start(socket: string): Promise<ChildProcess> {
  rmSync(socket, { force: true });
  const child = fork(join(import.meta.dirname, 'command-process.ts'), [socket], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [],
  });
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error('the process of the commands did not start');
    }),
  ]);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
