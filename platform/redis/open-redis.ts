import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { ConnectionOptions } from 'node:tls';
import { splitHosts } from '../split-hosts.ts';
import type { redisSettings } from '../settings-common.ts';
import type { SettingsOf } from '../settings.ts';
import { readTlsFiles, tlsPaths } from '../tls-files.ts';
import { restoreFastStrings } from './fast-strings.ts';

// After the import of ioredis.
restoreFastStrings();

export type RedisSettings = SettingsOf<typeof redisSettings>;

type Options = Omit<RedisOptions, 'replyMapping'>;

/** What the three kinds of installation share. */
type ConnectionRules = Pick<
  RedisOptions,
  | 'connectionName'
  | 'commandTimeout'
  | 'connectTimeout'
  | 'maxRetriesPerRequest'
  | 'enableOfflineQueue'
  | 'enableAutoPipelining'
  | 'autoResendUnfulfilledCommands'
  | 'socketTimeout'
  | 'keepAlive'
  | 'lazyConnect'
  | 'retryStrategy'
  | 'reconnectOnError'
>;

/**
 * A client of the Redis of the settings: a server, the master that Sentinels name, or a cluster.
 * All keys of one command, script or transaction have the same hash tag. A cluster's client has the
 * commands of the server's; SCAN goes to one node only (nodesOf).
 */
export function openRedis(settings: RedisSettings, rules: ConnectionRules): Redis {
  const urls = splitHosts(settings.REDIS_URL).map((one) => new URL(one));
  const [first] = urls;
  if (!first) throw new Error('REDIS_URL names no host');
  const tls = first.protocol === 'rediss:' ? tlsOf(settings) : undefined;
  const { retryStrategy, ...shared } = rules;
  const ofNodes: Options = { ...shared, ...loginOf(first), ...(tls ? { tls } : {}) };
  const options: Options = { ...ofNodes, ...(retryStrategy ? { retryStrategy } : {}) };
  switch (settings.REDIS_MODE) {
    case 'server':
      return new Redis({ ...options, ...addressOf(first, 6379) });
    case 'sentinel':
      return new Redis({
        ...options,
        sentinels: urls.map((url) => addressOf(url, 26_379)),
        name: settings.REDIS_SENTINEL_NAME,
        ...(settings.REDIS_SENTINEL_USERNAME === ''
          ? {}
          : { sentinelUsername: settings.REDIS_SENTINEL_USERNAME }),
        ...(settings.REDIS_SENTINEL_PASSWORD === ''
          ? {}
          : { sentinelPassword: settings.REDIS_SENTINEL_PASSWORD }),
        ...(tls ? { sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
        sentinelRetryStrategy: (attempt) => retryDelay(rules, attempt),
        // A master that became a replica is left for the new one.
        reconnectOnError: isReadOnly,
      });
    case 'cluster':
      return clusterClient(urls, { ofNodes, rules });
  }
}

function isReadOnly(error: Error): boolean {
  return error.message.startsWith('READONLY');
}

/** A failover of the cluster is noticed within this time, ms. */
const SLOTS_REFRESH_MS = 2000;

function clusterClient(
  urls: readonly URL[],
  { ofNodes, rules }: { ofNodes: Options; rules: ConnectionRules },
): Redis {
  const { enableOfflineQueue, lazyConnect, ...redisOptions } = ofNodes;
  const Client = enableOfflineQueue === false ? FailFastCluster : Cluster;
  const cluster = new Client(
    urls.map((url) => addressOf(url, 6379)),
    {
      // As with one server, what a lost connection leaves unanswered is not sent again.
      retryDelayOnFailover: 0,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      // Certificates name the hosts as the nodes announce them: no look-up of our own.
      dnsLookup: (address, callback) => callback(null, address),
      ...(lazyConnect === undefined ? {} : { lazyConnect }),
      ...(rules.retryStrategy
        ? { clusterRetryStrategy: (attempt: number) => retryDelay(rules, attempt) }
        : {}),
      redisOptions,
    },
  );
  return cluster as unknown as Redis;
}

/**
 * Fails commands while the cluster is not reachable, and those that get no answer in time. The
 * library's own switch for this (enableOfflineQueue) also fails the commands of a node to which the
 * connection is being opened: at the start, and after each failover.
 */
class FailFastCluster extends Cluster {
  override sendCommand(...args: Parameters<Cluster['sendCommand']>): unknown {
    const [command] = args;
    // The library itself asks CLUSTER INFO whether it is ready.
    if (this.status !== 'ready' && command.name !== 'cluster') {
      command.reject(new Error('the Redis Cluster is not reachable'));
      return command.promise;
    }
    const { commandTimeout } = this.options.redisOptions ?? {};
    if (commandTimeout !== undefined) command.setTimeout(commandTimeout);
    return super.sendCommand(...args);
  }
}

function retryDelay({ retryStrategy }: ConnectionRules, attempt: number): number | null {
  const ms = retryStrategy?.(attempt);
  return typeof ms === 'number' ? ms : null;
}

/** The servers that hold a client's keys: the masters of a cluster, or the one server. */
export function nodesOf(redis: Redis): Redis[] {
  const client: unknown = redis;
  return client instanceof Cluster ? (client as Cluster).nodes('master') : [redis];
}

function tlsOf(settings: RedisSettings): ConnectionOptions {
  return readTlsFiles(tlsPaths(settings, 'REDIS'));
}

function addressOf(url: URL, port: number): { host: string; port: number } {
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? port : Number(url.port),
  };
}

function loginOf(url: URL): Pick<RedisOptions, 'username' | 'password' | 'db'> {
  const database = url.pathname.slice(1);
  return {
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    ...(/^\d+$/.test(database) ? { db: Number(database) } : {}),
  };
}
