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
  afterAll(() => pool.end());
  return pool;
}
