import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { homeOf } from '../../../cli/stack/home.ts';
import { prepareClickhouse } from '../../../deploy/local/services/clickhouse.ts';
import type { Launch } from '../../../deploy/local/services/service.ts';
import { preparePostgres } from '../../../deploy/local/services/postgres.ts';
import { choosePort, isPortFree } from '../../../deploy/local/ports.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { connectPostgres } from '../../../platform/postgres/pool.ts';
import { createLog } from '../../../platform/log.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { eventually } from '../../support/stack.ts';

const checkout = join(import.meta.dirname, '../../..');

/**
 * A server that only this test uses, so that it can be killed without harm to the stack. It keeps
 * its port and its data.
 */
export class OwnServer {
  readonly url: string;
  readonly #launch: Launch;
  readonly #answers: () => Promise<void>;
  #child: ChildProcess | undefined;

  constructor(options: { url: string; launch: Launch; answers: () => Promise<void> }) {
    this.url = options.url;
    this.#launch = options.launch;
    this.#answers = options.answers;
  }

  async start(): Promise<void> {
    this.#child = spawn(this.#launch.command, [...this.#launch.args], {
      stdio: 'ignore',
      env: { ...process.env, ...this.#launch.env },
    });
    await eventually({ ms: 60_000, every: 100, waitingFor: `${this.url} to answer` }, async () => {
      await this.#answers();
      return true;
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

export interface OwnServers {
  clickhouse: OwnServer;
  postgres: OwnServer;
  close(): Promise<void>;
}

/** ClickHouse and PGlite of this test's own, both started. */
export async function startOwnServers(): Promise<OwnServers> {
  const dir = mkdtempSync(join(tmpdir(), 'ravand-sink-'));
  const home = homeOf({ checkout, env: { RAVAND_HOME: dir } });
  for (const folder of [home.run, home.data]) mkdirSync(folder, { recursive: true });
  const free = {
    preferred: [],
    isFree: (port: number) => isPortFree('127.0.0.1', port),
    random: Math.random,
  };
  const [clickhousePort, postgresPort] = [await choosePort(free), await choosePort(free)];
  const clickhouseUrl = `http://127.0.0.1:${clickhousePort}`;
  const postgresUrl = `postgres://postgres@127.0.0.1:${postgresPort}/postgres`;
  const clickhouse = new OwnServer({
    url: clickhouseUrl,
    launch: prepareClickhouse({ home, checkout, port: clickhousePort, memory: 1024 * 2 ** 20 }),
    async answers() {
      const settings = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: clickhouseUrl });
      const client = connectClickhouse({
        settings,
        name: 'test',
        database: '',
        requestTimeout: 2000,
      });
      try {
        await client.command({ query: 'SELECT 1' });
      } finally {
        await client.close();
      }
    },
  });
  const postgres = new OwnServer({
    url: postgresUrl,
    launch: preparePostgres({ home, checkout, port: postgresPort }),
    async answers() {
      const pool = connectPostgres({
        url: postgresUrl,
        log: createLog({ part: 'test', level: 'error' }),
        name: 'test',
        max: 1,
      });
      try {
        await pool.query('SELECT 1');
      } finally {
        await pool.end();
      }
    },
  });
  await Promise.all([clickhouse.start(), postgres.start()]);
  return {
    clickhouse,
    postgres,
    async close() {
      await Promise.all([clickhouse.kill(), postgres.kill()]);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
