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
    await eventually({ ms: 180_000, every: 100, waitingFor: `${this.url} to answer` }, async () => {
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
  /** CLICKHOUSE_URL and CLICKHOUSE_SHARDS */
  warehouse: { url: string; cluster: string };
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

async function prepareOwnClickhouse(
  home: Home,
  {
    password = ensureServerPasswords(home).clickhouse,
    shard,
  }: Partial<Pick<Parameters<typeof prepareClickhouse>[0], 'password' | 'shard'>> = {},
): Promise<OwnServer> {
  const port = await choosePort(FREE);
  const url = `http://${SERVER_USER}:${password}@127.0.0.1:${port}`;
  return new OwnServer({
    url,
    launch: prepareClickhouse({
      home,
      checkout,
      port,
      memory: OWN_CLICKHOUSE_BYTES,
      password,
      ...(shard ? { shard } : {}),
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
  configure(home, configuration);
  await server.start();
  return Object.assign(server, {
    async close() {
      await server.kill();
      rmSync(home.dir, { recursive: true, force: true });
    },
  });
}

/** Adds XML to the configuration of a home's ClickHouse. */
function configure(home: Home, configuration: string): void {
  const file = join(home.run, 'clickhouse.xml');
  const end = '</clickhouse>';
  writeFileSync(file, readFileSync(file, 'utf8').replace(end, `${configuration}${end}`));
}

const OWN_SHARDS = 'own_shards';

/** The cluster, and others of the same servers that a start refuses. */
const clustersOf = (tcpPorts: readonly number[]) => ({
  [OWN_SHARDS]: tcpPorts.map((port) => [port]),
  own_reversed: tcpPorts.toReversed().map((port) => [port]),
  own_replicas: tcpPorts.map(() => tcpPorts),
});

export interface OwnShards {
  /** CLICKHOUSE_URL */
  url: string;
  /** Name of the cluster, for CLICKHOUSE_SHARDS. */
  cluster: string;
  servers: OwnServer[];
  close(): Promise<void>;
}

/** Two ClickHouse servers as the shards of one cluster, started. */
export async function startOwnShards(): Promise<OwnShards> {
  const homes = [makeOwnHome(), makeOwnHome()];
  const password = ensureServerPasswords(homes[0] ?? makeOwnHome()).clickhouse;
  const ports = await Promise.all(homes.map(() => choosePort(FREE)));
  const of = { user: SERVER_USER, clusters: clustersOf(ports) };
  const servers: OwnServer[] = [];
  for (const [at, home] of homes.entries())
    servers.push(
      await prepareOwnClickhouse(home, { password, shard: { ...of, tcpPort: ports[at] ?? 0 } }),
    );
  await Promise.all(servers.map((server) => server.start()));
  const hosts = servers.map(({ url }) => new URL(url).host).join(',');
  return {
    url: `http://${SERVER_USER}:${password}@${hosts}`,
    ...{ servers, cluster: OWN_SHARDS },
    async close() {
      await Promise.all(servers.map((server) => server.kill()));
      for (const home of homes) rmSync(home.dir, { recursive: true, force: true });
    },
  };
}

/** ClickHouse and PGlite of this test's own, both started. */
export async function startOwnServers(): Promise<OwnServers> {
  const home = makeOwnHome();
  const clickhouse = await prepareOwnClickhouse(home);
  const postgres = await prepareOwnPostgres(home);
  await Promise.all([clickhouse.start(), postgres.start()]);
  return {
    clickhouse,
    postgres,
    warehouse: { url: clickhouse.url, cluster: '' },
    async close() {
      await Promise.all([clickhouse.kill(), postgres.kill()]);
      rmSync(home.dir, { recursive: true, force: true });
    },
  };
}

/** The same with two shards, of which `clickhouse` is the first. */
export async function startOwnShardServers(): Promise<OwnServers & { shards: OwnServer[] }> {
  const home = makeOwnHome();
  const postgres = await prepareOwnPostgres(home);
  const [shards] = await Promise.all([startOwnShards(), postgres.start()]);
  const [clickhouse] = shards.servers;
  if (!clickhouse) throw new Error('no shard was started');
  return {
    ...{ clickhouse, postgres, shards: shards.servers, warehouse: shards },
    async close() {
      await Promise.all([shards.close(), postgres.kill()]);
      rmSync(home.dir, { recursive: true, force: true });
    },
  };
}

async function prepareOwnPostgres(home: Home): Promise<OwnServer> {
  const passwords = ensureServerPasswords(home);
  const postgresPort = await choosePort(FREE);
  const postgresUrl = `postgres://postgres:${passwords.postgres}@127.0.0.1:${postgresPort}/postgres`;
  return new OwnServer({
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
}
