import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { identify, isAlive, sameProcess, signalProcess, startOf } from './process-identity.ts';

const stat = (name: string, state: string) =>
  `4711 (${name}) ${state} 1 4711 4711 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 11 0 987654 1 2 3`;

describe('the identification of a process', () => {
  it('reads the start time, whatever characters the process name contains', () => {
    expect(startOf(stat('node', 'S'))).toBe('987654');
    expect(startOf(stat('a) S 1 (b', 'R'))).toBe('987654');
  });

  it('treats a zombie as exited', () => {
    expect(startOf(stat('node', 'Z'))).toBeUndefined();
  });

  it('distinguishes a later process with the same id from the recorded one', () => {
    expect(sameProcess({ pid: 5, started: '1' }, { pid: 5, started: '2' })).toBe(false);
    expect(sameProcess({ pid: 5, started: '1' }, undefined)).toBe(false);
    expect(isAlive({ pid: process.pid, started: 'long ago' })).toBe(false);
    expect(signalProcess({ pid: process.pid, started: 'long ago' }, 'SIGKILL')).toBe(false);
  });

  it('signals exactly the recorded process', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      stdio: 'ignore',
    });
    const identity = identify(child.pid ?? 0);
    expect(isAlive(identity)).toBe(true);
    if (identity) signalProcess(identity, 'SIGKILL');
    await once(child, 'exit');
    expect(isAlive(identity)).toBe(false);
  });
});
