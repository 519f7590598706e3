import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Home } from '../../../cli/stack/home.ts';
import type { Launch } from './service.ts';

export function preparePostgres({
  home,
  checkout,
  port,
}: {
  home: Home;
  checkout: string;
  port: number;
}): Launch {
  const folder = join(home.data, 'postgres');
  mkdirSync(folder, { recursive: true });
  return {
    command: process.execPath,
    args: [
      join(checkout, 'deploy/local/postgres-server.ts'),
      folder,
      String(port),
      home.passwordsFile,
    ],
    env: {},
  };
}
