import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signInLimit } from '../../../control-plane/sign-in-limit/sign-in-limit.ts';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import { removeClaims } from '../../../ops/log/advance-epoch/apply.ts';
import { ClaimBatcher } from '../../../platform/claims/claim-batcher.ts';
import { CLAIM_KEYS } from '../../../platform/claims/claim-keys.ts';
import { connectClaims } from '../../../platform/claims/connect.ts';
import { createLog } from '../../../platform/log.ts';
import { connectRedis } from '../../../platform/redis/client.ts';
import { nodesOf } from '../../../platform/redis/open-redis.ts';
import { redisSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import {
  makeAuthority,
  type Authority,
  type Certificate,
} from '../../support/connections/certificates.ts';
import {
  REDIS_PASSWORD,
  startRedis,
  tlsSettings,
  type RunningRedis,
} from '../../support/connections/redis-servers.ts';
import { eventually } from '../../support/stack.ts';

const folder = mkdtempSync(join(tmpdir(), 'ravand-redis-'));
const log = createLog({ part: 'test', level: 'fatal' });
const running: RunningRedis[] = [];
const clients: Redis[] = [];
let authority: Authority;
let certificate: Certificate;

beforeAll(() => {
  authority = makeAuthority(folder);
  certificate = authority.issue('redis');
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await Promise.all(running.splice(0).map(({ process }) => process.end()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const settingsOf = (env: Readonly<Record<string, string>>) => parseSettings(redisSettings, env);
const kept = (client: Redis): Redis => {
  clients.push(client);
  return client;
};
const claimsOf = (env: Readonly<Record<string, string>>) =>
  kept(connectClaims({ settings: settingsOf(env), role: 'normaliser', onError: () => undefined }));
const ready = (client: Redis) =>
  eventually({ ms: 20_000, every: 20, waitingFor: 'a connection to Redis' }, () =>
    Promise.resolve(client.status === 'ready' || undefined),
  );
const tlsEnv = () => ({
  REDIS_TLS_CA_FILE: authority.ca,
  ...{ REDIS_TLS_CERT_FILE: certificate.cert, REDIS_TLS_KEY_FILE: certificate.key },
});
const overTls = (port: number, password?: string) =>
  new Redis({
    ...{ host: '127.0.0.1', port, ...(password === undefined ? {} : { password }) },
    tls: {
      ca: readFileSync(authority.ca),
      cert: readFileSync(certificate.cert),
      key: readFileSync(certificate.key),
    },
    retryStrategy: () => 50,
  });
/** A master, or a replica of one, with TLS for clients, replicas and Sentinels. */
const startSecure = async (masterPort?: number) => {
  const started = await startRedis({
    folder,
    settings: (port) => ({
      ...tlsSettings(port, { ca: authority.ca, certificate }),
      ...{ requirepass: REDIS_PASSWORD, masterauth: REDIS_PASSWORD },
      ...(masterPort === undefined ? {} : { replicaof: `127.0.0.1 ${masterPort}` }),
    }),
    isUp: (port) => overTls(port, REDIS_PASSWORD),
  });
  running.push(started);
  return started;
};

async function claimOnce(redis: Redis): Promise<readonly string[]> {
  const batcher = new ClaimBatcher({ redis, dedupeTtl: 60_000 });
  const ids = ['a', 'b', 'c'].map((id) => claimId(claimScope(1, 'message'), id));
  const now = Date.UTC(2026, 10, 21);
  try {
    await batcher.claim(ids, now);
    return (await batcher.claim(ids, now)).verdicts;
  } finally {
    await batcher.close();
  }
}
const PENDING = ['pending-elsewhere', 'pending-elsewhere', 'pending-elsewhere'];

describe('with TLS', () => {
  it('claims are accepted by a server that asks for a client certificate', async () => {
    const { port } = await startSecure();
    const url = `rediss://:${REDIS_PASSWORD}@127.0.0.1:${port}`;
    const claims = claimsOf({ REDIS_URL: url, ...tlsEnv() });
    await ready(claims);
    expect(await claimOnce(claims)).toEqual(PENDING);

    const { REDIS_TLS_CA_FILE } = tlsEnv();
    expect(await refusal({ REDIS_URL: url, REDIS_TLS_CA_FILE })).toMatch(
      /certificate required|ECONNRESET|EPIPE/,
    );
    const other = makeAuthority(folder, 'other').ca;
    expect(await refusal({ REDIS_URL: url, ...tlsEnv(), REDIS_TLS_CA_FILE: other })).toMatch(
      /self-signed certificate|unable to verify/,
    );
  });
});

/** Why a connection was refused. */
async function refusal(env: Readonly<Record<string, string>>): Promise<string> {
  const errors: string[] = [];
  const onError = (error: Error) => errors.push(error.message);
  const client = kept(connectClaims({ settings: settingsOf(env), role: 'normaliser', onError }));
  let wasReady = false;
  client.on('ready', () => (wasReady = true));
  const message = await eventually(
    { ms: 20_000, every: 20, waitingFor: 'a refused connection' },
    () => Promise.resolve(errors[0]),
  );
  expect(wasReady).toBe(false);
  return message;
}

describe('with Sentinel', () => {
  it('the client goes on with the new master when the master dies, over TLS', async () => {
    const master = await startSecure();
    const replica = await startSecure(master.port);
    const linked = overTls(replica.port, REDIS_PASSWORD);
    await eventually(
      { ms: 20_000, every: 50, waitingFor: 'the replica to follow' },
      async () => (await linked.info('replication')).includes('master_link_status:up') || undefined,
    );
    const sentinel = await startRedis({
      ...{ folder, sentinel: true },
      settings: (port) => ({
        ...tlsSettings(port, { ca: authority.ca, certificate }),
        requirepass: 'sentinel-secret',
        'sentinel monitor': `payments 127.0.0.1 ${master.port} 1`,
        'sentinel auth-pass': `payments ${REDIS_PASSWORD}`,
        'sentinel down-after-milliseconds': 'payments 2000',
        'sentinel failover-timeout': 'payments 3000',
      }),
      isUp: (port) => overTls(port, 'sentinel-secret'),
    });
    running.push(sentinel);
    const watching = overTls(sentinel.port, 'sentinel-secret');
    await eventually(
      { ms: 30_000, every: 50, waitingFor: 'Sentinel to know the replica' },
      async () =>
        ((await watching.call('SENTINEL', 'REPLICAS', 'payments')) as unknown[]).length > 0 ||
        undefined,
    );
    const redis = kept(
      connectRedis({
        settings: settingsOf({
          REDIS_URL: `rediss://:${REDIS_PASSWORD}@127.0.0.1:${sentinel.port}`,
          ...{ REDIS_MODE: 'sentinel', REDIS_SENTINEL_NAME: 'payments' },
          ...{ REDIS_SENTINEL_PASSWORD: 'sentinel-secret', ...tlsEnv() },
        }),
        ...{ log, commandTimeout: 1000, name: 'test' },
      }),
    );
    await ready(redis);
    await redis.set('before', '1');
    expect(await redis.wait(1, 5000)).toBe(1);
    await master.process.end();
    await eventually({ ms: 60_000, every: 50, waitingFor: 'a write to the new master' }, async () =>
      redis.set('after', '1').catch(() => undefined),
    );
    expect(await redis.get('before')).toBe('1');
    expect((await linked.info('replication')).includes('role:master')).toBe(true);
    linked.disconnect();
    watching.disconnect();
  });
});

describe('with Redis Cluster', () => {
  it('claims, sign-in limits and the removal of claims work on keys of several nodes, over TLS', async () => {
    const nodes = await Promise.all(
      Array.from({ length: 3 }, () =>
        startRedis({
          folder,
          settings: (port) => ({
            ...tlsSettings(port, { ca: authority.ca, certificate }),
            ...{ 'cluster-enabled': 'yes', 'cluster-node-timeout': 2000, 'tls-cluster': 'yes' },
            ...{ requirepass: REDIS_PASSWORD, masterauth: REDIS_PASSWORD },
            // By default 10,000 more than the port, which may be too large.
            'cluster-port': port > 55_000 ? port - 10_000 : port + 10_000,
          }),
          isUp: (port) => overTls(port, REDIS_PASSWORD),
        }),
      ),
    );
    running.push(...nodes);
    const admins = nodes.map(({ port }) => kept(overTls(port, REDIS_PASSWORD)));
    const third = Math.ceil(16_384 / 3);
    for (const [at, admin] of admins.entries())
      await admin.cluster('ADDSLOTSRANGE', at * third, Math.min((at + 1) * third, 16_384) - 1);
    for (const { port } of nodes.slice(1)) {
      const bus = port > 55_000 ? port - 10_000 : port + 10_000;
      await admins[0]?.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(bus));
    }
    await eventually({ ms: 30_000, every: 50, waitingFor: 'the cluster to be whole' }, async () => {
      const infos = await Promise.all(admins.map((admin) => admin.cluster('INFO')));
      return (
        infos.every(
          (info) => info.includes('cluster_state:ok') && info.includes('known_nodes:3'),
        ) || undefined
      );
    });

    const env = {
      REDIS_URL: `rediss://:${REDIS_PASSWORD}@127.0.0.1:${nodes[0]?.port},127.0.0.1:${nodes[1]?.port}`,
      ...{ REDIS_MODE: 'cluster', ...tlsEnv() },
    };
    const claims = claimsOf(env);
    await ready(claims);
    expect(await claimOnce(claims)).toEqual(PENDING);
    const redis = kept(
      connectRedis({ settings: settingsOf(env), log, commandTimeout: 1000, name: 'test' }),
    );
    await ready(redis);
    for (const key of ['one', 'two', 'three', 'four', 'five', 'six']) await redis.set(key, key);
    const sizes = await Promise.all(nodesOf(redis).map((node) => node.dbsize()));
    expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(1);

    const limit = signInLimit(redis);
    const subject = { email: 'a@b.example', ip: '192.0.2.1' };
    expect(await limit.countAttempt(subject)).toBe(0);

    const left = async () =>
      (await Promise.all(admins.map((admin) => admin.keys(CLAIM_KEYS)))).flat();
    expect(await left()).not.toHaveLength(0);
    await removeClaims(settingsOf(env), { removesClaims: true });
    expect(await left()).toHaveLength(0);
    expect(await redis.get('one')).toBe('one');
  });
});
