import { readFileSync } from 'node:fs';
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { removeFile } from './segment.ts';

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
}

/**
 * Locks the folder for this process, replacing the lock of a dead process. Resolves with the
 * function that unlocks it. Rejects with SpoolLocked when a living process holds the lock, or a
 * process of another host, which cannot be checked.
 */
export async function lockSpool(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'lock');
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, JSON.stringify(ownOwner()), { flush: true });
  try {
    for (let attempt = 0; attempt < 5; attempt++) {
      if (await linked(draft, path)) return () => removeFile(path);
      const text = await readFile(path, 'utf8').catch(() => undefined);
      if (text === undefined) continue;
      const owner = parseOwner(text);
      if (owner && isAlive(owner))
        throw new SpoolLocked(
          `SPOOL_DIR ${folder} is in use by process ${owner.pid} on ${owner.host}: stop it, or give this gateway a SPOOL_DIR of its own`,
        );
      await removeStaleLock({ path, draft, text });
    }
    throw new SpoolLocked(
      `SPOOL_DIR ${folder}: several processes lock it at once; start one gateway per folder`,
    );
  } finally {
    await unlink(draft);
  }
}

/** Removes a stale lock; if it was replaced by a fresh one meanwhile, restores that. */
async function removeStaleLock({
  path,
  draft,
  text,
}: {
  path: string;
  draft: string;
  text: string;
}): Promise<void> {
  const aside = `${draft}.stale`;
  await rename(path, aside).catch(() => undefined);
  const moved = await readFile(aside, 'utf8').catch(() => undefined);
  if (moved !== undefined && moved !== text) await linked(aside, path);
  await removeFile(aside);
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function ownOwner(): Owner {
  return {
    pid: process.pid,
    host: hostname(),
    started: startOf(process.pid) ?? '',
    boot: bootId(),
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

function isAlive(owner: Owner): boolean {
  if (owner.host !== hostname()) return true;
  if (owner.boot !== bootId()) return false;
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
