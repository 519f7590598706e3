import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { endWithTest } from '../test/support/end-with-test.ts';
import { freePort } from '../test/support/service-process.ts';

/** Core of the measured server. */
const SERVER_CORE = '0';
/** Core of the load client and of the servers that the measured one uses. */
const LOAD_CORE = '1';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');

export interface Server {
  port: number;
  child: ChildProcess;
}

/**
 * Starts a server of this repository on the server's core and on a free port of loopback; resolves
 * when it answers POST /v1/status. It ends with this process.
 */
export async function startServer(
  script: string,
  options: { args?: (port: number) => string[]; env?: (port: number) => NodeJS.ProcessEnv },
): Promise<Server> {
  const port = await freePort();
  const args = options.args?.(port) ?? [];
  const child = spawn(
    'taskset',
    ['-c', SERVER_CORE, process.execPath, join(root, script), ...args],
    {
      env: { ...process.env, ...options.env?.(port) },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  endWithTest(child);
  for (let waited = 0; waited < 15_000; waited += 100) {
    const isUp = await fetch(`http://127.0.0.1:${port}/v1/status`, {
      method: 'POST',
      body: '{}',
    }).then(
      () => true,
      () => false,
    );
    if (isUp) return { port, child };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill();
  throw new Error(`${script} does not answer on port ${port}`);
}

/** Runs a load client on its core; answers its output and the CPU time of the server, ms. */
export async function loadServer(
  { child }: Server,
  script: string,
  args: readonly string[],
): Promise<{ printed: string; cpu: number }> {
  const { pid } = child;
  if (pid === undefined) throw new Error('the server has no process');
  const before = cpuOf(pid);
  const { stdout } = await execute('taskset', [
    '-c',
    LOAD_CORE,
    process.execPath,
    join(root, script),
    ...args,
  ]);
  return { printed: stdout, cpu: cpuOf(pid) - before };
}

/** CPU time of a process with its threads, ms. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Process ids of the stack's parts on this machine, by name; external servers have none. */
export async function pidsByName(): Promise<Map<string, number>> {
  const { stdout } = await execute(join(root, 'ravand'), ['status', '--json']);
  const { parts } = JSON.parse(stdout) as { parts: { name: string; pid: number | null }[] };
  return new Map(parts.flatMap(({ name, pid }) => (pid === null ? [] : [[name, pid] as const])));
}

export async function pidsOf(names: readonly string[]): Promise<number[]> {
  const pids = await pidsByName();
  return names.flatMap((name) => pids.get(name) ?? []);
}

/** Pins services that the measured server uses to the load client's core; answers the undo. */
export async function pinServices(names: readonly string[]): Promise<() => Promise<void>> {
  const pids = await pidsOf(names);
  const pin = async (cores: string) => {
    for (const pid of pids) await execute('taskset', ['-acp', cores, String(pid)]);
  };
  await pin(LOAD_CORE);
  return () => pin(`${SERVER_CORE},${LOAD_CORE}`);
}
