import { readFileSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { RavandError } from './types.ts';

/** A holder shows so often that it lives; of another machine nothing else can be known. */
const BEAT_MS = 5000;
const DEAD_AFTER_MS = 20_000;

/** Paths that this process holds: a file that names it otherwise is of an earlier process. */
const held = new Set<string>();

/**
 * Locks a file against other processes until the answer is called.
 * @throws RavandError `queue_file` when a process that lives holds it
 */
export function lock(path: string): () => void {
  for (let attempt = 0; attempt < 2; attempt++)
    try {
      writeFileSync(path, me(), { flag: 'wx' });
      held.add(path);
      const beat = setInterval(() => touch(path), BEAT_MS).unref();
      return () => {
        clearInterval(beat);
        held.delete(path);
        unlinkSync(path);
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (isHeld(path)) throw new RavandError('queue_file', `${path}: another process uses it`);
      unlinkSync(path);
    }
  throw new RavandError('queue_file', `${path}: another process took it at the same time`);
}

function isHeld(path: string): boolean {
  if (held.has(path)) return true;
  const [host, pid = '', started = ''] = readFileSync(path, 'utf8').split(' ');
  if (host !== hostname()) return Date.now() - statSync(path).mtimeMs < DEAD_AFTER_MS;
  return Number(pid) !== process.pid && isAlive(Number(pid), started);
}

const me = () => `${hostname()} ${process.pid} ${startOf(process.pid)}`;

function isAlive(pid: number, started: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  // Another process may have got the number since.
  return startOf(pid) === started;
}

/** When a process began, in ticks since the machine did; empty where only Linux would say. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may have spaces.
    return stat.slice(stat.lastIndexOf(')')).split(' ')[20] ?? '';
  } catch {
    return '';
  }
}

function touch(path: string): void {
  try {
    utimesSync(path, new Date(), new Date());
  } catch {
    // It shows less life than there is: only another machine looks for it.
  }
}
