import type { ClickHouseClient } from '@clickhouse/client';
import pg from 'pg';
import { afterAll } from 'vitest';
import { clickhouse, readyStack } from './stack.ts';

/** ClickHouse of the stack under test; closes after the tests of the calling file or block. */
export function openClickhouse(): ClickHouseClient {
  const client = clickhouse(readyStack());
  afterAll(() => client.close());
  return client;
}

/** PostgreSQL of the stack under test; closes after the tests of the calling file or block. */
export function openPostgres(): pg.Pool {
  const pool = new pg.Pool({ connectionString: readyStack().database_url, max: 1 });
  // Of an idle connection, when a test kills the server: the next statement opens another one.
  pool.on('error', () => undefined);
  afterAll(() => pool.end());
  return pool;
}
