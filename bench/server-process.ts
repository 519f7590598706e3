import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The server that is measured has this core. */
const SERVER_CORE = '0';
/** The load client and what the server leans on share this one. */
const LOAD_CORE = '1';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');

export interface Server {
  port: number;
  child: ChildProcess;
}

/**
 * Starts a server of this repository on the server's core and on a free port of loopback; resolves
 * when it answers POST /v1/status.
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

/**
 * Runs a load client on its core while the server's CPU time is taken; answers what it printed, and
 * that time in ms.
 */
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

/**
 * Processes of those parts of the stack that run on this machine; servers of one's own elsewhere
 * have none.
 */
export async function pidsOf(names: readonly string[]): Promise<number[]> {
  const { stdout } = await execute(join(root, 'ravand'), ['status', '--json']);
  const { parts } = JSON.parse(stdout) as { parts: { name: string; pid: number | null }[] };
  return parts.filter(({ name }) => names.includes(name)).flatMap(({ pid }) => pid ?? []);
}

/**
 * Puts parts that the measured server leans on onto the load client's core, and answers what puts
 * them back.
 */
export async function pinParts(names: readonly string[]): Promise<() => Promise<void>> {
  const pids = await pidsOf(names);
  const pin = async (cores: string) => {
    for (const pid of pids) await execute('taskset', ['-acp', cores, String(pid)]);
  };
  await pin(LOAD_CORE);
  return () => pin(`${SERVER_CORE},${LOAD_CORE}`);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
