import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
/** With the downloads. */
const INSTALL_MS = 300_000;

/**
 * The environment for `python3` with the packages of requirements.txt, which are installed into the
 * user's cache folder when they are missing. Rejects without python3 and pip.
 */
export async function pythonTools(): Promise<NodeJS.ProcessEnv> {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'ravand');
  const folder = join(cache, 'python', hash('sha256', readFileSync(REQUIREMENTS)).slice(0, 16));
  if (!existsSync(folder)) {
    await mkdir(join(cache, 'python'), { recursive: true });
    const draft = await mkdtemp(join(cache, 'python', '.draft-'));
    const line = ['-m', 'pip', 'install', '--quiet', '--target', draft, '-r', REQUIREMENTS];
    try {
      await run('python3', line, { timeout: INSTALL_MS });
      await rename(draft, folder);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      // Another process was first.
      if (!existsSync(folder))
        throw new Error('the packages of deploy/tools/requirements.txt cannot be installed', {
          cause: error,
        });
    }
  }
  return { ...process.env, PYTHONPATH: folder };
}
