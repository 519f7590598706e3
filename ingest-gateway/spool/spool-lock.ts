import { spawnSync } from 'node:child_process';
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { link, unlink, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { syncFolder } from './segment.ts';

/** Another process uses the spool's folder. */
export class SpoolLocked extends Error {
  override readonly name = 'SpoolLocked';
}

interface Owner {
  pid: number;
  host: string;
  /** Start of the process in ticks since boot: distinguishes a later process with the same id. */
  started: string;
  /** Changes with every boot. */
  boot: string;
  /** The holder has the kernel's lock on this file; missing in files of earlier versions. */
  kernel?: boolean;
}

/** Exit status of flock(1) when another process holds the lock. */
const HELD = 1;

/**
 * Locks the folder for this process with flock(2) on its file `lock`. The kernel releases the lock
 * when the process ends, however it ends and whatever the host is called then. Returns the function
 * that unlocks it. Rejects with SpoolLocked when another process holds the lock.
 */
export async function lockSpool(folder: string): Promise<() => void> {
  const path = join(folder, 'lock');
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  for (let attempt = 0; attempt < 5; attempt++) {
    const fd = await lockedFile({ folder, path, draft });
    if (fd !== undefined)
      return () => {
        // Empty, it is stale to an earlier version on any host. Others may have it open: it stays.
        ftruncateSync(fd);
        closeSync(fd);
      };
  }
  throw new SpoolLocked(
    `SPOOL_DIR ${folder}: several processes lock it at once; start one gateway per folder`,
  );
}

/** The descriptor that holds the lock; undefined when the file was replaced meanwhile. */
async function lockedFile(options: {
  folder: string;
  path: string;
  draft: string;
}): Promise<number | undefined> {
  const { folder, path, draft } = options;
  // Created with a link, complete at once: an earlier version that starts at the same moment
  // sees no lock or this one.
  await writeFile(draft, JSON.stringify(ownOwner()), { flush: true });
  try {
    await link(draft, path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
  } finally {
    await unlink(draft);
  }
  const fd = openSync(path, 'r+');
  try {
    const isHeld = isLocked(fd);
    const owner = parseOwner(readFileSync(fd, 'utf8'));
    if (!isHeld)
      throw new SpoolLocked(
        `SPOOL_DIR ${folder} is in use by process ${owner?.pid ?? 'unknown'} on ${owner?.host ?? 'an unknown host'}: stop it, or give this gateway a SPOOL_DIR of its own`,
      );
    if (fstatSync(fd).ino !== statSync(path, { throwIfNoEntry: false })?.ino) {
      closeSync(fd);
      return undefined;
    }
    // A gateway of an earlier version holds no kernel lock: the file itself was its lock.
    if (owner && owner.kernel !== true && isAlive(owner))
      throw new SpoolLocked(
        `SPOOL_DIR ${folder} is in use by process ${owner.pid} on ${owner.host}, a gateway of an earlier version: stop it first`,
      );
    ftruncateSync(fd);
    writeSync(fd, JSON.stringify(ownOwner()), 0);
    await syncFolder(folder);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Takes the lock for the open file of `fd`: flock(1) inherits the descriptor, and the lock stays
 * with the open file after flock(1) has ended. Node itself has no call for it.
 */
function isLocked(fd: number): boolean {
  const { status, error, stderr } = spawnSync('flock', ['-n', '-x', '3'], {
    stdio: ['ignore', 'ignore', 'pipe', fd],
    encoding: 'utf8',
    timeout: 10_000,
  });
  if (status === 0) return true;
  if (status === HELD) return false;
  throw new Error(
    `the spool cannot be locked: flock(1) ${error ? `cannot be run (${error.message})` : `failed: ${stderr.trim()}`}; install util-linux (or busybox), and keep SPOOL_DIR on a file system with locks`,
    { cause: error },
  );
}

function ownOwner(): Owner {
  return {
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid) ?? '',
    boot: bootId(),
    kernel: true,
  };
}

function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Partial<Owner>;
    return typeof owner.pid === 'number' && typeof owner.host === 'string'
      ? { started: '', boot: '', ...owner, pid: owner.pid, host: owner.host }
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * True when the process of an old lock runs on this host. That of another host cannot be checked:
 * a container that was created again has another name, so such a lock counts as stale.
 */
function isAlive(owner: Owner): boolean {
  if (owner.host !== hostname() || owner.boot !== bootId()) return false;
  const started = startOf(owner.pid);
  if (started !== undefined) return started === owner.started;
  try {
    process.kill(owner.pid, 0);
    return owner.started === '';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Start time from /proc; undefined without /proc or without such a process. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
