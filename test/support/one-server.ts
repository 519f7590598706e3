import type { ClickHouseClient } from '@clickhouse/client';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../../platform/clickhouse/migrate.ts';
import { clickhouseSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { ddlFolders } from '../../projections/ddl-folders.ts';
import { startOwnClickhouse } from '../integration/sink/own-servers.ts';
import { serverSettings } from './service-process.ts';
import { readyStack } from './stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const execute = promisify(execFile);

/** One ClickHouse beside a stack of shards; operators' commands fill it from the stack's log. */
export interface OneServer {
  client: ClickHouseClient;
  /** Runs `./ravand …` against it; answers its output. Rejects on a non-zero exit. */
  ravand(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

export async function startOneServer(): Promise<OneServer> {
  const server = await startOwnClickhouse();
  const settings = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: server.url });
  await migrateClickhouse(settings, ddlFolders());
  const client = connectClickhouse({ settings, name: 'test', requestTimeout: 60_000 });
  // Without a stack in it the settings name the servers.
  const dir = mkdtempSync(join(tmpdir(), 'ravand-one-'));
  const env = {
    ...{ ...process.env, ...serverSettings(readyStack()) },
    ...{ RAVAND_HOME: dir, CLICKHOUSE_URL: server.url, CLICKHOUSE_SHARDS: '' },
  };
  return {
    client,
    async ravand(...args) {
      const options = { env, timeout: 200_000, maxBuffer: 2 ** 26 };
      const { stdout } = await execute(join(CHECKOUT, 'ravand'), args, options);
      return stdout;
    },
    async close() {
      await client.close();
      await server.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
