import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { lockSpool, SpoolLocked } from './spool-lock.ts';

let folder: string;
let holder: ChildProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ravand-lock-'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  if (holder?.exitCode === null) holder.kill('SIGKILL');
  holder = undefined;
  await rm(folder, { recursive: true, force: true });
});

const lockPath = () => join(folder, 'lock');

/** Another process that holds the lock until it is killed. */
async function startHolder(): Promise<ChildProcess> {
  const module = join(import.meta.dirname, 'spool-lock.ts');
  const script = `const { lockSpool } = await import(${JSON.stringify(module)});
    await lockSpool(${JSON.stringify(folder)});
    console.log('locked');
    setInterval(() => undefined, 1000);`;
  holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (holder.stdout) await once(holder.stdout, 'data');
  return holder;
}

/** The file as an earlier version writes it: the file itself was its lock. */
async function writeOldLock(owner: object): Promise<void> {
  const stat = readFileSync(`/proc/${process.pid}/stat`, 'utf8');
  await writeFile(
    lockPath(),
    JSON.stringify({
      pid: process.pid,
      host: hostname(),
      started: stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19],
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      ...owner,
    }),
  );
}

describe('the lock of a spool', () => {
  it('excludes another process, and names it', async () => {
    const { pid } = await startHolder();
    await expect(lockSpool(folder)).rejects.toThrow(SpoolLocked);
    await expect(lockSpool(folder)).rejects.toThrow(`process ${pid} on ${hostname()}`);
  });

  it('excludes a second lock of the same process', async () => {
    const unlock = await lockSpool(folder);
    await expect(lockSpool(folder)).rejects.toThrow(SpoolLocked);
    unlock();
    (await lockSpool(folder))();
  });

  it('is free again after kill -9, also when the host has another name then', async () => {
    const killed = await startHolder();
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    const lock = JSON.parse(await readFile(lockPath(), 'utf8')) as object;
    await writeFile(lockPath(), JSON.stringify({ ...lock, host: 'a container of before' }));
    (await lockSpool(folder))();
  });

  it('is not inherited by child processes', async () => {
    const unlock = await lockSpool(folder);
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    unlock();
    (await lockSpool(folder))();
    child.kill('SIGKILL');
  });

  it('of an earlier version excludes while its process lives on this host', async () => {
    await writeOldLock({});
    await expect(lockSpool(folder)).rejects.toThrow('a gateway of an earlier version');
  });

  it.each([
    ['its process is gone', { started: '1' }],
    ['the machine was started again', { boot: 'another' }],
    ['the container had another name', { host: 'a container of before' }],
  ])('of an earlier version is stale when %s', async (_, owner) => {
    await writeOldLock(owner);
    (await lockSpool(folder))();
  });

  it('that cannot be read is stale', async () => {
    await writeFile(lockPath(), 'x');
    (await lockSpool(folder))();
  });

  it('is empty after it was released, which an earlier version takes for stale', async () => {
    (await lockSpool(folder))();
    expect(await readFile(lockPath(), 'utf8')).toBe('');
  });

  it('names the package that is missing without flock(1)', async () => {
    vi.stubEnv('PATH', folder);
    await expect(lockSpool(folder)).rejects.toThrow('install util-linux');
  });

  it('is held in the kernel', async () => {
    const unlock = await lockSpool(folder);
    expect(spawnSync('flock', ['-n', '-x', lockPath(), 'true']).status).toBe(1);
    unlock();
    expect(spawnSync('flock', ['-n', '-x', lockPath(), 'true']).status).toBe(0);
  });
});
