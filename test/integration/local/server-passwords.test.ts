import { createClient } from '@clickhouse/client';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import kafkajs from 'kafkajs';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { readJsonFile } from '../../../cli/json-file.ts';
import { homeOf } from '../../../cli/stack/home.ts';
import type { ServerPasswords } from '../../../deploy/local/server-passwords.ts';
import { readyStack } from '../../support/stack.ts';

const home = homeOf({ checkout: '', env: process.env });

/** Every password and key of the stack. */
function secrets(): string[] {
  const { demo } = readyStack();
  return [
    ...Object.values<string>({ ...readJsonFile<ServerPasswords>(home.passwordsFile) }),
    readFileSync(home.sealingKeyFile, 'utf8').trim(),
    ...Object.values<string>(demo.management_keys),
    demo.write_key,
    demo.member.password,
  ];
}

describe('the servers of a stack', () => {
  it('answer ordinary clients that use the addresses of ready.json as they are', async () => {
    const ready = readyStack();
    const database = new pg.Client(ready.database_url);
    await database.connect();
    expect((await database.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await database.end();
    const clickhouse = createClient({ url: ready.clickhouse_url });
    expect((await clickhouse.ping({ select: true })).success).toBe(true);
    await clickhouse.close();
    const redis = new Redis(ready.redis_url);
    expect(await redis.ping()).toBe('PONG');
    await redis.quit();
    const kafka = new kafkajs.Kafka({
      brokers: [ready.kafka_brokers],
      logLevel: kafkajs.logLevel.NOTHING,
    }).admin();
    await kafka.connect();
    expect(await kafka.listTopics()).toContain('events.raw');
    await kafka.disconnect();
  });

  it('refuse PostgreSQL clients without the password', async () => {
    const url = new URL(readyStack().database_url);
    url.password = 'wrong';
    const client = new pg.Client(url.href);
    await expect(client.connect()).rejects.toMatchObject({ code: '28P01' });
  });

  it('refuse Redis clients without the password', async () => {
    const { hostname, port } = new URL(readyStack().redis_url);
    const redis = new Redis({ host: hostname, port: Number(port), retryStrategy: () => null });
    redis.on('error', () => undefined);
    await expect(redis.get('x')).rejects.toThrow('NOAUTH');
    redis.disconnect();
  });

  it.each([
    ['no user', {}],
    ['default', { 'x-clickhouse-user': 'default' }],
    ['default with an empty password', { authorization: `Basic ${btoa('default:')}` }],
    ['a wrong password', { authorization: `Basic ${btoa('ravand:wrong')}` }],
  ])('refuse ClickHouse clients with %s, whatever the query', async (_name, headers) => {
    const { origin } = new URL(readyStack().clickhouse_url);
    for (const query of [
      'SELECT 1',
      'SELECT count() FROM ravand.events',
      'SELECT * FROM ravand.events SETTINGS max_concurrent_queries_for_all_users = 0',
      'SELECT * FROM system.processes',
      'SYSTEM STOP LISTEN HTTP',
      "KILL QUERY WHERE query LIKE '%sleepEachRow%'",
      'CREATE TABLE ravand.x (a Int8) ENGINE = Memory',
    ]) {
      const answer = await fetch(origin, { method: 'POST', headers, body: query });
      expect([query, answer.ok]).toEqual([query, false]);
    }
    expect(await (await fetch(`${origin}/ping`)).text()).toBe('Ok.\n');
  });
});

it('a file of a home that holds a password or a key is readable by its owner only', () => {
  const files = filesOf(home.dir).filter((path) => !path.startsWith(home.data));
  const withSecrets = files.filter((path) => {
    const text = readFileSync(path, 'latin1');
    return secrets().some((secret) => text.includes(secret));
  });
  expect(withSecrets).toContain(home.readyFile);
  expect(withSecrets.filter((path) => (statSync(path).mode & 0o077) !== 0)).toEqual([]);
});

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
