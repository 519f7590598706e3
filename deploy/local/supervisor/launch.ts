import { spawn } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CommandError } from '../../../cli/command.ts';
import type { Home } from '../../../cli/stack/home.ts';
import { readJsonFile } from '../../../cli/json-file.ts';
import { identify, isAlive, type ProcessIdentity } from '../../../cli/stack/process-identity.ts';
import { SMALL_HEAP } from '../services/node-service.ts';
import { lastLines, logFile, openLog } from './log-file.ts';

const APPEAR_MS = 20_000;
const POLL_MS = 30;

interface Launching {
  home: Home;
  checkout: string;
  env: NodeJS.ProcessEnv;
}

/** Starts the supervisor in its own session, out of reach of Ctrl-C, and waits for it. */
export async function launchSupervisor({ home, checkout, env }: Launching): Promise<void> {
  const log = openLog(home.logs, 'supervisor');
  const child = spawn(
    process.execPath,
    [...SMALL_HEAP, join(checkout, 'deploy/local/supervisor/main.ts')],
    {
      cwd: checkout,
      env: { ...env, RAVAND_HOME: home.dir },
      detached: true,
      stdio: ['ignore', log, log],
    },
  );
  closeSync(log);
  const over = new AbortController();
  child.on('error', () => over.abort());
  child.on('exit', () => over.abort());
  child.unref();
  const end = Date.now() + APPEAR_MS;
  while (readJsonFile<ProcessIdentity>(home.supervisorFile)?.pid !== child.pid) {
    if (over.signal.aborted || Date.now() > end) {
      const lines = lastLines(logFile(home.logs, 'supervisor'), 15).join('\n');
      throw new CommandError(`the supervisor did not start:\n${lines}`);
    }
    await wait(POLL_MS);
  }
}

/** Locks a home while one `up` launches its supervisor. Returns the function that unlocks it. */
export function lockLaunch(home: Home): () => void {
  const path = join(home.run, 'launching.json');
  const self = identify(process.pid);
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const file = openSync(path, 'wx', 0o600);
      writeSync(file, JSON.stringify(self));
      closeSync(file);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (isAlive(readJsonFile<ProcessIdentity>(path))) break;
      rmSync(path, { force: true });
    }
  }
  throw new CommandError(
    `another ./ravand up is starting the stack in ${home.dir}: wait until it is done`,
  );
}
