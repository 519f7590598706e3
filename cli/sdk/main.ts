import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parseLine } from '../arguments.ts';
import type { CommandContext } from '../command.ts';
import { print } from '../terminal.ts';

const execute = promisify(execFile);

/** `./ravand sdk`: builds the packages of both SDKs, and prints the files that npm installs. */
export async function run(args: string[], { checkout }: CommandContext): Promise<number> {
  const { words } = parseLine({ args, options: {}, words: { min: 0, max: 1 } });
  const folder = resolve(words[0] ?? '.');
  await mkdir(folder, { recursive: true });
  const built = await mkdtemp(join(tmpdir(), 'ravand-sdk-'));
  try {
    const build = [join(checkout, 'sdk/build.ts'), '--packages', built];
    await execute(process.execPath, build, { cwd: checkout });
    for (const name of ['browser', 'node']) {
      const pack = ['pack', '--silent', '--pack-destination', folder];
      const { stdout } = await execute('npm', pack, { cwd: join(checkout, 'sdk', name) });
      print(join(folder, stdout.trim()));
    }
  } finally {
    await rm(built, { recursive: true, force: true });
  }
  return 0;
}
