import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { homeOf, makeHome, type Home } from '../../../cli/stack/home.ts';
import { prepareClickhouse } from '../../../deploy/local/services/clickhouse.ts';
import type { Launch } from '../../../deploy/local/services/service.ts';
import { ensureServerPasswords, SERVER_USER } from '../../../deploy/local/server-passwords.ts';
import { preparePostgres } from '../../../deploy/local/services/postgres.ts';
import { choosePort, isPortFree } from '../../../deploy/local/ports.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { connectPostgres } from '../../../platform/postgres/pool.ts';
import { createLog } from '../../../platform/log.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { endWithTest } from '../../support/end-with-test.ts';
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

  /** Of the process that runs now. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How it ended: exit code or signal; undefined while it runs. */
  get exit(): number | string | undefined {
    return this.#child?.exitCode ?? this.#child?.signalCode ?? undefined;
  }

  async start(): Promise<void> {
    this.#child = spawn(this.#launch.command, [...this.#launch.args], {
      stdio: 'ignore',
      env: { ...process.env, ...this.#launch.env },
    });
    endWithTest(this.#child);
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

/** Memory of the ClickHouse of a test's own. */
export const OWN_CLICKHOUSE_BYTES = 2 ** 30;

/** Any free port. */
const FREE = {
  preferred: [],
  isFree: (port: number) => isPortFree('127.0.0.1', port),
  random: Math.random,
};

function makeOwnHome(): Home {
  const dir = mkdtempSync(join(tmpdir(), 'ravand-own-'));
  const home = homeOf({ checkout, env: { RAVAND_HOME: dir } });
  makeHome(home);
  return home;
}

async function prepareOwnClickhouse(home: Home): Promise<OwnServer> {
  const port = await choosePort(FREE);
  const password = ensureServerPasswords(home).clickhouse;
  const url = `http://${SERVER_USER}:${password}@127.0.0.1:${port}`;
  return new OwnServer({
    url,
    launch: prepareClickhouse({
      home,
      checkout,
      port,
      memory: OWN_CLICKHOUSE_BYTES,
      password,
    }),
    async answers() {
      const settings = parseSettings(clickhouseSettings, { CLICKHOUSE_URL: url });
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
}

/**
 * A ClickHouse of the test's own, started. `close` removes its data.
 * @param configuration XML that is added to that of the server
 */
export async function startOwnClickhouse(
  configuration = '',
): Promise<OwnServer & { close(): Promise<void> }> {
  const home = makeOwnHome();
  const server = await prepareOwnClickhouse(home);
  const file = join(home.run, 'clickhouse.xml');
  const end = '</clickhouse>';
  writeFileSync(file, readFileSync(file, 'utf8').replace(end, `${configuration}${end}`));
  await server.start();
  return Object.assign(server, {
    async close() {
      await server.kill();
      rmSync(home.dir, { recursive: true, force: true });
    },
  });
}

/** ClickHouse and PGlite of this test's own, both started. */
export async function startOwnServers(): Promise<OwnServers> {
  const home = makeOwnHome();
  const clickhouse = await prepareOwnClickhouse(home);
  const passwords = ensureServerPasswords(home);
  const postgresPort = await choosePort(FREE);
  const postgresUrl = `postgres://postgres:${passwords.postgres}@127.0.0.1:${postgresPort}/postgres`;
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
      rmSync(home.dir, { recursive: true, force: true });
    },
  };
}
