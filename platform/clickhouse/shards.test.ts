import type { ClickHouseClient } from '@clickhouse/client';
import { describe, expect, it } from 'vitest';
import { clickhouseSettings } from '../settings-common.ts';
import { parseSettings } from '../settings.ts';
import { killOnAbort } from './kill-on-abort.ts';
import { limitedClient } from './limited-client.ts';
import { eachShard, onAccount, shardedClient } from './shards.ts';

/** A server that notes what it is asked. */
function server(name: string, asked: string[]): ClickHouseClient {
  const run = (params: object) => {
    asked.push(`${name} ${JSON.stringify(params)}`);
    return Promise.resolve(name);
  };
  return { query: run, command: run, exec: run, insert: run } as unknown as ClickHouseClient;
}

describe('a statement', () => {
  const asked: string[] = [];
  const shards = ['even', 'odd'].map((name) => server(name, asked));
  const client = shardedClient(server('all', asked), shards);

  it('goes to the shard of its account, and without one to the Distributed tables', async () => {
    expect(await onAccount(client, 7).query({ query: 'q' })).toBe('odd');
    expect(await onAccount(client, 8).exec({ query: 'q' })).toBe('even');
    expect(await client.query({ query: 'q' })).toBe('all');
    expect(asked).toEqual(['odd {"query":"q"}', 'even {"query":"q"}', 'all {"query":"q"}']);
  });

  it('goes there through clients that limit it and kill it, too', async () => {
    const limits = () => Promise.resolve({});
    const limited = limitedClient(client, { limits, priority: 1 });
    const wrapped = killOnAbort(limited, () => undefined);
    expect(await onAccount(wrapped, 7).query({ query: 'q' })).toBe('odd');
    expect(await wrapped.query({ query: 'q' })).toBe('all');
    expect(eachShard(wrapped)).toBe(shards);
  });

  it('goes to the only server where there are no shards', () => {
    const one = server('one', []);
    expect(onAccount(one, 7)).toBe(one);
    expect(eachShard(one)).toEqual([one]);
  });
});

describe('CLICKHOUSE_SHARDS is refused', () => {
  const of = (env: NodeJS.ProcessEnv) => () =>
    parseSettings(clickhouseSettings, { CLICKHOUSE_SHARDS: 'two', ...env });
  const two = { CLICKHOUSE_URL: 'http://a:1,b:2' };

  it('for one host, and beside CLICKHOUSE_CLUSTER', () => {
    expect(of({ CLICKHOUSE_URL: 'http://a:1' })).toThrow(/names one host/);
    expect(of({ ...two, CLICKHOUSE_CLUSTER: 'x' })).toThrow(/a shard is one server/);
    expect(of(two)().CLICKHOUSE_SHARDS).toBe('two');
  });
});
