import type { ClickHouseClient } from '@clickhouse/client';
import kafkajs, { type Admin } from 'kafkajs';
import type { Retentions } from '../../events/retention.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { kafkajsConnection } from '../../platform/kafka/connection.ts';
import { createLog } from '../../platform/log.ts';
import {
  COMMAND_CONNECT_MS,
  connectPostgres,
  type Database,
} from '../../platform/postgres/pool.ts';
import { CommandError, type CommandContext } from '../../cli/command.ts';
import { operatorContext, type OperatorContext } from '../operator-context.ts';

/** An unavailable server delays the end of a command at most so long, ms. */
const CLOSE_MS = 2000;

/** The connected servers of a job. */
export interface Connections extends OperatorContext {
  admin: Admin;
  clickhouse: ClickHouseClient;
  database: Database;
}

/**
 * Runs `work` with connections. Rejects with CommandError when no stack runs here or `stop` aborts
 * before the connections are open, and with the errors of the servers.
 */
export async function withConnections<T>(
  { context, stop }: { context: CommandContext; stop: AbortSignal },
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  const operator = operatorContext(context);
  const { settings } = operator;
  // An operator must see what a job waits for.
  const log = createLog({ part: 'operate', level: 'warn', to: 'stderr' });
  const admin = new kafkajs.Kafka(kafkajsConnection(settings, 'ravand-operate')).admin();
  const clickhouse = connectClickhouse({
    settings,
    name: 'ravand-operate',
    requestTimeout: 300_000,
    connections: 8,
  });
  const database = connectPostgres({
    url: settings.DATABASE_URL,
    log,
    name: 'ravand-operate',
    max: 2,
    connectTimeout: COMMAND_CONNECT_MS,
  });
  try {
    const stopped = new Promise<never>((_, reject) =>
      stop.addEventListener('abort', () => reject(new CommandError('stopped')), { once: true }),
    );
    await Promise.race([admin.connect(), stopped]);
    return await work({ ...operator, log, admin, clickhouse, database });
  } finally {
    const closed = Promise.allSettled([admin.disconnect(), clickhouse.close(), database.end()]);
    await withDeadline({ ms: CLOSE_MS, waitingFor: 'connections to close' }, closed).catch(
      () => undefined,
    );
  }
}

/** Retention of every account, days. */
export async function readRetentions(database: Database): Promise<Retentions> {
  const { rows } = await database.query<{ id: string; retention_days: number }>(
    'SELECT id, retention_days FROM accounts',
  );
  return new Map(rows.map(({ id, retention_days }) => [Number(id), retention_days]));
}
