import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHECKOUT = join(import.meta.dirname, '..', '..');

/** The release before the one with event-row.v2: the last commit of issue 12. */
const COMMIT = 'ea2d08216ccb747fb083252b212b4db4d2c92484';

/**
 * The code of the previous release in a temporary folder; undefined where the repository does not
 * have its commit, as in a shallow clone or without git.
 */
export function previousRelease(): { checkout: string; remove: () => void } | undefined {
  const git = { cwd: CHECKOUT, stdio: 'pipe', maxBuffer: 256 * 1024 * 1024 } as const;
  let archive: Buffer;
  try {
    archive = execFileSync('git', ['archive', '--format=tar', COMMIT], git);
  } catch {
    return undefined;
  }
  const checkout = mkdtempSync(join(tmpdir(), 'ravand-previous-'));
  execFileSync('tar', ['-x', '-C', checkout], { input: archive });
  symlinkSync(join(CHECKOUT, 'node_modules'), join(checkout, 'node_modules'));
  return { checkout, remove: () => rmSync(checkout, { recursive: true, force: true }) };
}
