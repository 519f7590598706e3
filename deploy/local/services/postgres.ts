import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Home } from '../../../cli/stack/home.ts';
import type { Launch } from './service.ts';

const run = promisify(execFile);
const INIT_MS = 120_000;

interface Server {
  home: Home;
  checkout: string;
  port: number;
}

export function preparePostgres({ home, checkout, port }: Server): Launch {
  const folder = join(home.data, 'postgres');
  return {
    command: process.execPath,
    args: [
      join(checkout, 'deploy/local/postgres-server.ts'),
      folder,
      String(port),
      home.passwordsFile,
    ],
    env: {},
    prepare: () => initialise(folder, checkout),
  };
}

/** Makes the data folder, whole or not at all, unless there is one. */
async function initialise(folder: string, checkout: string): Promise<void> {
  if (existsSync(join(folder, 'PG_VERSION'))) return;
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const script = join(checkout, 'deploy/local/setup/init-postgres.ts');
  await run(process.execPath, [script, draft], { timeout: INIT_MS });
  // Fails when there are files: without PG_VERSION nobody knows whose they are.
  if (existsSync(folder)) rmdirSync(folder);
  renameSync(draft, folder);
}
