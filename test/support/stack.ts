import { createClient, type ClickHouseClient } from '@clickhouse/client';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Ready } from '../../cli/stack/ready.ts';
import { shardsEnv } from '../../cli/stack/stack-plan.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { clickhouseSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { runCommand } from './commands/run-command.ts';
import { testTimeout } from './test-timeout.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const execute = promisify(execFile);

/** True for `./ravand test … --full`, which runs the long forms of the fault tests. */
export const FULL = process.env['RAVAND_TEST_FULL'] === '1';

/** The stack that `./ravand test` started. Throws when there is none. */
export function readyStack(): Ready {
  const home = process.env['RAVAND_HOME'];
  if (home === undefined)
    throw new Error('RAVAND_HOME is not set: run these tests with ./ravand test');
  return JSON.parse(readFileSync(join(home, 'run', 'ready.json'), 'utf8')) as Ready;
}

/** Short commands, which one process runs for all tests: commands/command-process.ts. */
const IN_ONE_PROCESS = ['admin', 'start', 'status', 'stop'];

/** Runs `./ravand …` on the stack under test; answers its output. Rejects on a non-zero exit. */
export async function ravand(...args: string[]): Promise<string> {
  if (IN_ONE_PROCESS.includes(args[0] ?? '')) {
    const output = await runCommand(args);
    if (output) return output.stdout;
  }
  const { stdout } = await execute(join(CHECKOUT, 'ravand'), args, {
    timeout: testTimeout(300_000),
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

/** The JSON answer of an admin command. */
export async function admin<T>(...args: string[]): Promise<T> {
  return JSON.parse(await ravand('admin', ...args)) as T;
}

export interface ServiceStatus {
  name: string;
  pid: number | null;
  up: boolean;
  address: string;
  admin_url: string | null;
  restarts: number;
  lag: number | null;
}

export async function serviceStatus(name: string): Promise<ServiceStatus> {
  const { parts: services } = JSON.parse(await ravand('status', '--json')) as {
    parts: ServiceStatus[];
  };
  const service = services.find((one) => one.name === name);
  if (!service) throw new Error(`status lists no service ${name}`);
  return service;
}

/**
 * Kills a service's process with kill -9; the supervisor restarts it. Answers false when it was
 * already down.
 */
export async function killService(name: string): Promise<boolean> {
  const { pid } = await serviceStatus(name);
  if (pid === null) return false;
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

export interface TestAccount {
  accountId: number;
  writeKey: string;
  managementKey: string;
}

/** Creates an account with a write key and an admin's management key. */
export async function createAccount(name: string): Promise<TestAccount> {
  const { account_id } = await admin<{ account_id: number }>(
    ...['account', 'create', '--name', name, '--retention-days', '400'],
  );
  const account = ['--account', String(account_id)];
  const [write, management] = await Promise.all([
    admin<{ write_key: string }>(
      ...['write-key', 'create', ...account, '--app', 'test', '--environment', 'test'],
    ),
    admin<{ management_key: string }>(
      ...['management-key', 'create', ...account, '--role', 'admin'],
    ),
  ]);
  return {
    accountId: account_id,
    writeKey: write.write_key,
    managementKey: management.management_key,
  };
}

/** On shards a client of all of them, as services have: `onAccount`, `eachShard`. */
export function clickhouse(ready: Ready): ClickHouseClient {
  if (ready.clickhouse_shards)
    return connectClickhouse({
      settings: parseSettings(clickhouseSettings, {
        CLICKHOUSE_URL: ready.clickhouse_url,
        CLICKHOUSE_DATABASE: ready.clickhouse_database,
        ...shardsEnv(ready),
      }),
      ...{ name: 'test', requestTimeout: 60_000 },
    });
  return createClient({
    url: ready.clickhouse_url,
    database: ready.clickhouse_database,
    request_timeout: 60_000,
  });
}

/** Rows of a query, as objects. */
export async function rows<T>(
  client: ClickHouseClient,
  query: string,
  params: Record<string, unknown> = {},
): Promise<T[]> {
  const answer = await client.query({
    query,
    query_params: params,
    format: 'JSONEachRow',
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
  });
  return answer.json<T>();
}

/** Thrown by a probe of `eventually` when waiting on is pointless. */
export class Aborted extends Error {}

/**
 * Repeats `probe` until it answers something. Rejects after `ms` (in CI after several times that,
 * test-timeout.ts), or when it throws Aborted.
 */
export async function eventually<T>(
  options: { ms: number; every?: number; waitingFor: string },
  probe: () => Promise<T | undefined>,
): Promise<T> {
  const ms = testTimeout(options.ms);
  const deadline = Date.now() + ms;
  let last: unknown;
  for (;;) {
    try {
      const found = await probe();
      if (found !== undefined) return found;
    } catch (error) {
      if (error instanceof Aborted) throw error;
      last = error;
    }
    if (Date.now() > deadline)
      throw new Error(`waited ${ms} ms for ${options.waitingFor}`, { cause: last });
    await sleep(options.every ?? 250);
  }
}

export async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
