import type { ClickHouseClient } from '@clickhouse/client';
import kafkajs, { type Admin } from 'kafkajs';
import type { Retentions } from '../../../pipeline/replay/kept-until.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { kafkajsConnection } from '../../../platform/kafka/connection.ts';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import type { DelegateContext } from '../../local/commands/delegate.ts';
import { surroundingsOf, type Surroundings } from '../look/surroundings.ts';

/** The servers that a job works with, connected. */
export interface Connections extends Surroundings {
  admin: Admin;
  clickhouse: ClickHouseClient;
  database: Database;
}

/** Connects for the time of `work`. Rejects with Refusal when no stack runs here, and with what a server answers. */
export async function withConnections<T>(context: DelegateContext, work: (connections: Connections) => Promise<T>): Promise<T> {
  const surroundings = surroundingsOf(context);
  const { settings, log } = surroundings;
  const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-operate')).admin();
  const clickhouse = connectClickhouse({ settings, name: 'ravand-operate', requestTimeout: 300_000, connections: 8 });
  const database = connectPostgres({ url: settings.DATABASE_URL, log, name: 'ravand-operate', max: 2 });
  try {
    await admin.connect();
    return await work({ ...surroundings, admin, clickhouse, database });
  } finally {
    await Promise.allSettled([admin.disconnect(), clickhouse.close(), database.end()]);
  }
}

/** How long every account keeps its events, days. */
export async function readRetentions(database: Database): Promise<Retentions> {
  const { rows } = await database.query<{ id: string; retention_days: number }>('SELECT id, retention_days FROM accounts');
  return new Map(rows.map(({ id, retention_days }) => [Number(id), retention_days]));
}
