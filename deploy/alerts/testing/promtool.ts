import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Exit code of a shell that finds no such command. */
const NOT_FOUND = 127;

/** promtool of Prometheus: PROMTOOL_PATH, the one that `./ravand test` fetched, or one in PATH. */
function promtool(): string {
  const { PROMTOOL_PATH, XDG_CACHE_HOME } = process.env;
  if (PROMTOOL_PATH !== undefined && PROMTOOL_PATH !== '') return PROMTOOL_PATH;
  const fetched = join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'ravand/promtool/promtool');
  return existsSync(fetched) ? fetched : 'promtool';
}

/** What promtool prints; it ends with another code than 0 when a rule or a test is wrong. */
export async function runPromtool(args: readonly string[]): Promise<string> {
  try {
    // Failures are on standard error, between the lines that name the tests.
    const { stdout } = await run('sh', ['-c', '"$0" "$@" 2>&1', promtool(), ...args], {
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const { code, stdout = '' } = error as { code?: number; stdout?: string };
    if (code === NOT_FOUND)
      throw new Error(
        'promtool is not installed: run ./ravand test, install the package prometheus, or set PROMTOOL_PATH',
        { cause: error },
      );
    return stdout;
  }
}
