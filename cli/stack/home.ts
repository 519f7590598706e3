import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where one stack keeps its state: RAVAND_HOME, or `.ravand/` in the checkout. */
export interface Home {
  dir: string;
  run: string;
  logs: string;
  data: string;
  spool: string;
  /** Files of exports: personal data. */
  exports: string;
  readyFile: string;
  planFile: string;
  portsFile: string;
  processesFile: string;
  supervisorFile: string;
  socket: string;
  demoFile: string;
  sealingKeyFile: string;
  trackingKeysFile: string;
  /** Passwords of the servers that the stack runs. */
  passwordsFile: string;
}

/** Below the longest path of a Unix socket on every system. */
const SOCKET_PATH_MAX = 100;

export function homeOf({ checkout, env }: { checkout: string; env: NodeJS.ProcessEnv }): Home {
  const given = env['RAVAND_HOME']?.trim() ?? '';
  const dir = given === '' ? join(checkout, '.ravand') : resolve(given);
  const run = join(dir, 'run');
  return {
    dir,
    run,
    logs: join(dir, 'logs'),
    data: join(dir, 'data'),
    spool: join(dir, 'spool'),
    exports: join(dir, 'exports'),
    readyFile: join(run, 'ready.json'),
    planFile: join(run, 'stack.json'),
    portsFile: join(run, 'ports.json'),
    processesFile: join(run, 'processes.json'),
    supervisorFile: join(run, 'supervisor.json'),
    socket: socketPath(dir, join(run, 'control.sock')),
    demoFile: join(dir, 'demo.json'),
    sealingKeyFile: join(dir, 'sealing-key'),
    trackingKeysFile: join(dir, 'tracking-keys'),
    passwordsFile: join(dir, 'server-passwords.json'),
  };
}

function socketPath(dir: string, inHome: string): string {
  if (Buffer.byteLength(inHome) <= SOCKET_PATH_MAX) return inHome;
  return join(
    tmpdir(),
    `ravand-${createHash('sha256').update(dir).digest('hex').slice(0, 24)}.sock`,
  );
}

/** Makes the folders of a home, readable by their owner only: they hold keys and personal data. */
export function makeHome(home: Home): void {
  mkdirSync(home.dir, { recursive: true });
  for (const folder of [home.run, home.logs, home.data, home.spool])
    mkdirSync(folder, { recursive: true, mode: 0o700 });
}
