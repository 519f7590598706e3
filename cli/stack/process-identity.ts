import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A process by its id and the instant it began, so that an id that the system reused is not
 * mistaken for it.
 */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

/**
 * Start of the process in clock ticks since boot, from the text of /proc/PID/stat; the name in
 * parentheses may hold anything.
 */
export function startOf(stat: string): string | undefined {
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = afterName[0];
  // A zombie has ended: only its parent has not looked yet.
  if (state === undefined || state === 'Z' || state === 'X') return undefined;
  return afterName[19];
}

/** The process with this id; undefined when there is none. */
export function identify(pid: number): ProcessIdentity | undefined {
  const started = process.platform === 'linux' ? startOnLinux(pid) : startElsewhere(pid);
  return started === undefined ? undefined : { pid, started };
}

function startOnLinux(pid: number): string | undefined {
  try {
    return startOf(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

function startElsewhere(pid: number): string | undefined {
  try {
    const answer = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 2000,
    });
    return answer.trim() || undefined;
  } catch {
    return undefined;
  }
}

export function sameProcess(recorded: ProcessIdentity, now: ProcessIdentity | undefined): boolean {
  return now?.pid === recorded.pid && now.started === recorded.started;
}

export function isAlive(recorded: ProcessIdentity | undefined): recorded is ProcessIdentity {
  return recorded !== undefined && sameProcess(recorded, identify(recorded.pid));
}

/** Sends a signal to exactly that process; false when it is gone. */
export function signalProcess(recorded: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(recorded)) return false;
  try {
    process.kill(recorded.pid, signal);
    return true;
  } catch {
    return false;
  }
}
