import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Resident memory of a process, bytes. */
export async function residentBytes(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  } catch {
    const { stdout } = await execute('ps', ['-o', 'rss=', '-p', String(pid)]);
    return Number(stdout.trim()) * 1024;
  }
}

/** Looks at the memory of a process every so often; `stop` answers the most that was seen. */
export function watchMemory(pid: number, every: number): () => Promise<number> {
  let most = 0;
  const look = async () => {
    most = Math.max(most, await residentBytes(pid));
  };
  const timer = setInterval(() => void look().catch(() => undefined), every);
  return async () => {
    clearInterval(timer);
    await look();
    return most;
  };
}
