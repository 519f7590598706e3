import pg from 'pg';
import type { Log } from '../log.ts';
import { rememberSecret } from '../redaction/known-secrets.ts';
import { connectionOf } from './database-url.ts';

export type Database = pg.Pool;

/** `connectTimeout` of a command that changes something, ms. */
export const COMMAND_CONNECT_MS = 20_000;

/**
 * A small pool. The embedded default is PGlite behind a socket, where all clients share one
 * session: therefore each statement is atomic, without advisory locks, LISTEN, named prepared
 * statements, other session state, or transactions held open across other I/O. The same makes
 * PgBouncer in transaction mode possible.
 */
export function connectPostgres(options: {
  url: string;
  log: Log;
  name: string;
  /** Connections, at most; 2 by default. */
  max?: number;
  /** DATABASE_POOL_SIZE, which replaces `max` unless it is 0. */
  size?: number;
  /** How long a statement may take, ms; 0: as long as it takes. 10 s by default. */
  queryTimeout?: number;
  /**
   * How long a connection may take to open, ms. 3 s by default: a service answers 503 instead of
   * waiting. What a person started waits longer for a busy server (COMMAND_CONNECT_MS).
   */
  connectTimeout?: number;
}): Database {
  // Commands read the URL from the stack's files, not as a setting.
  rememberSecret(options.url);
  const pool = new pg.Pool({
    ...connectionOf(options.url),
    application_name: options.name,
    max: options.size || (options.max ?? 2),
    connectionTimeoutMillis: options.connectTimeout ?? 3000,
    idleTimeoutMillis: 30_000,
    query_timeout: options.queryTimeout ?? 10_000,
  });
  pool.on('error', (error) =>
    // The error contains the whole client, so only its message is logged.
    options.log.warn(
      { code: 'postgres_connection' },
      `an idle PostgreSQL connection failed (${error.message}); the next query opens a new one`,
    ),
  );
  return pool;
}
