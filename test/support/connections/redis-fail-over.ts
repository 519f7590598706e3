import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually, sleep } from '../stack.ts';
import { startRedis, type RunningRedis } from './redis-servers.ts';

/**
 * Fail-overs in tests take about this long and a vote, ms. A busy machine must not cause one of its
 * own.
 */
const DOWN_AFTER_MS = 5000;
const WAIT_MS = 60_000;

/** Servers that replace a master that dies. */
export interface FailOverRedis {
  /** What connects a service to them. */
  readonly env: Readonly<Record<string, string>>;
  /** Number of masters. */
  readonly masters: number;
  /** A connection to each server that holds data. */
  readonly admins: readonly Redis[];
  /**
   * Cuts the replicas of a master off for a moment and kills it with -9: the replica that takes
   * over lacks what was written meanwhile. Resolves once it has taken over.
   */
  killMaster(at: number): Promise<void>;
  /** Starts what was killed; resolves once it is a replica. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Of claims (docs/deduplication.md), and a cluster's. */
const SERVER = {
  ...{ appendonly: 'yes', save: '""', 'maxmemory-policy': 'noeviction' },
  ...{ 'hash-max-listpack-entries': 512, 'hash-max-listpack-value': 64 },
  // A replica follows at once, without files.
  ...{ 'repl-diskless-sync': 'yes', 'repl-diskless-sync-delay': 0 },
};

const connect = (port: number) => {
  const redis = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  return redis;
};

const until = (waitingFor: string, probe: () => Promise<boolean>) =>
  eventually({ ms: WAIT_MS, every: 50, waitingFor }, async () => (await probe()) || undefined);

const replication = async (redis: Redis, wanted: string) =>
  (await redis.info('replication')).includes(wanted);

class Servers {
  readonly folder = mkdtempSync(join(tmpdir(), 'ravand-fail-over-'));
  readonly running: RunningRedis[] = [];
  readonly admins: Redis[] = [];
  /** Of `running`. */
  killed: number[] = [];

  async start(
    settings: (port: number) => Readonly<Record<string, string | number>>,
    sentinel = false,
  ): Promise<{ server: RunningRedis; admin: Redis }> {
    const server = await startRedis({ folder: this.folder, settings, sentinel, isUp: connect });
    const admin = connect(server.port);
    this.running.push(server);
    this.admins.push(admin);
    return { server, admin };
  }

  async kill(at: number): Promise<void> {
    // The replica connects again within a second; none of it succeeds before the master is dead.
    for (let times = 0; times < 8; times += 1) {
      await this.admins[at]?.call('CLIENT', 'KILL', 'TYPE', 'replica');
      await sleep(50);
    }
    await this.running[at]?.process.end('SIGKILL');
    this.killed.push(at);
  }

  async restart(): Promise<void> {
    for (const at of this.killed.splice(0)) {
      const [server, admin] = [this.running[at], this.admins[at]];
      if (!server || !admin) continue;
      await server.restart();
      await until('the killed server to follow the new master', () =>
        replication(admin, 'master_link_status:up'),
      );
    }
  }

  async stop(): Promise<void> {
    for (const admin of this.admins) admin.disconnect();
    await Promise.all(this.running.map(({ process }) => process.end()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** By default 10,000 more than the port, which may be too large. */
const busOf = (port: number) => (port > 55_000 ? port - 10_000 : port + 10_000);

/** Six processes: three masters with a replica each. */
export async function startRedisCluster(): Promise<FailOverRedis> {
  const masters = 3;
  const servers = new Servers();
  const settings = (port: number) => ({
    ...{ ...SERVER, port, 'cluster-enabled': 'yes', 'cluster-port': busOf(port) },
    'cluster-node-timeout': DOWN_AFTER_MS,
  });
  await Promise.all(Array.from({ length: 2 * masters }, () => servers.start(settings)));
  const { admins, running } = servers;
  const share = Math.ceil(16_384 / masters);
  for (const [at, admin] of admins.entries()) {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
    const first = at * share;
    if (at < masters)
      await admin.cluster('ADDSLOTSRANGE', first, Math.min(first + share, 16_384) - 1);
  }
  for (const { port } of running.slice(1))
    await admins[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busOf(port)));
  const isWhole = async () => {
    const alive = admins.filter((_, at) => !servers.killed.includes(at));
    const infos = await Promise.all(alive.map((admin) => admin.cluster('INFO')));
    return infos.every(
      (info) => info.includes('cluster_state:ok') && info.includes(`known_nodes:${admins.length}`),
    );
  };
  await until('the cluster to be whole', isWhole);
  const ids = await Promise.all(admins.map((admin) => admin.cluster('MYID')));
  for (const [at, replica] of admins.slice(masters).entries()) {
    await replica.cluster('REPLICATE', String(ids[at]));
    await until('the replica to follow', () => replication(replica, 'master_link_status:up'));
  }
  return {
    env: {
      REDIS_MODE: 'cluster',
      REDIS_URL: `redis://${running.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    },
    ...{ masters, admins },
    async killMaster(at) {
      // A master and its replica change places.
      const pair = [at % masters, (at % masters) + masters];
      for (const one of pair) {
        const [admin, other] = [
          admins[one],
          admins[pair[0] === one ? (pair[1] ?? 0) : (pair[0] ?? 0)],
        ];
        if (!admin || !other || !(await replication(admin, 'role:master'))) continue;
        await servers.kill(one);
        await until('the replica to take over', () => replication(other, 'role:master'));
        break;
      }
      await until('the cluster to be whole again', isWhole);
    },
    restart: () => servers.restart(),
    stop: () => servers.stop(),
  };
}

/** A master, a replica, and three Sentinels that watch them. */
async function startRedisSentinel(): Promise<FailOverRedis> {
  const servers = new Servers();
  const { server: master } = await servers.start((port) => ({ ...SERVER, port }));
  const { admin: replica } = await servers.start((port) => ({
    ...{ ...SERVER, port, replicaof: `127.0.0.1 ${master.port}` },
  }));
  await until('the replica to follow', () => replication(replica, 'master_link_status:up'));
  const admins = [...servers.admins];
  const watching = await Promise.all(
    Array.from({ length: 3 }, () =>
      servers.start(
        (port) => ({
          port,
          'sentinel monitor': `claims 127.0.0.1 ${master.port} 2`,
          'sentinel down-after-milliseconds': `claims ${DOWN_AFTER_MS}`,
          'sentinel failover-timeout': 'claims 5000',
        }),
        true,
      ),
    ),
  );
  const knownTo = async (admin: Redis, what: 'REPLICAS' | 'SENTINELS') =>
    ((await admin.call('SENTINEL', what, 'claims')) as unknown[]).length;
  for (const { admin } of watching)
    await until(
      'the Sentinels to know each other and the replica',
      async () =>
        (await knownTo(admin, 'REPLICAS')) === 1 && (await knownTo(admin, 'SENTINELS')) === 2,
    );
  return {
    env: {
      ...{ REDIS_MODE: 'sentinel', REDIS_SENTINEL_NAME: 'claims' },
      REDIS_URL: `redis://${watching.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}`,
    },
    ...{ masters: 1, admins },
    async killMaster() {
      const roles = await Promise.all(admins.map((admin) => replication(admin, 'role:master')));
      const at = roles.indexOf(true);
      const other = admins[1 - at];
      if (!other) throw new Error('there is no replica');
      await servers.kill(at);
      await until('the replica to take over', () => replication(other, 'role:master'));
    },
    restart: () => servers.restart(),
    stop: () => servers.stop(),
  };
}

/** The kinds of servers that fail over, by name. */
export const FAIL_OVER_KINDS = [
  ['a Redis Cluster of six processes', startRedisCluster],
  ['a master, a replica and three Sentinels', startRedisSentinel],
] as const;
