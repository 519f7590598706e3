import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
/** With the downloads. */
const INSTALL_MS = 300_000;

/** So long another process may install, ms; then it was killed. */
const LOCK_MS = INSTALL_MS;
const POLL_MS = 250;

/**
 * The environment for `python3` with the packages of requirements.txt, and for their programs. They
 * are installed into the user's cache folder when they are missing; processes that want them at the
 * same time wait for one. Rejects without python3 and pip.
 */
export async function pythonTools(): Promise<NodeJS.ProcessEnv> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'ravand/python');
  const folder = join(cache, hash('sha256', readFileSync(REQUIREMENTS)).slice(0, 16));
  await mkdir(cache, { recursive: true });
  while (!existsSync(folder)) {
    if (await isFirst(`${folder}.lock`)) await install(folder);
    else await setTimeout(POLL_MS);
  }
  const path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
  return { ...process.env, PYTHONPATH: folder, PATH: path };
}

async function isFirst(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch {
    const made = await stat(lock).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > LOCK_MS) await rm(lock, { recursive: true });
    return false;
  }
}

async function install(folder: string): Promise<void> {
  const draft = `${folder}.draft`;
  await rm(draft, { recursive: true, force: true });
  try {
    const line = ['-m', 'pip', 'install', '--quiet', '--target', draft, '-r', REQUIREMENTS];
    await run('python3', line, { timeout: INSTALL_MS });
    await rename(draft, folder);
  } catch (error) {
    throw new Error('the packages of deploy/tools/requirements.txt cannot be installed', {
      cause: error,
    });
  } finally {
    await rm(`${folder}.lock`, { recursive: true, force: true });
  }
}
