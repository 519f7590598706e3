import pg from 'pg';
import type { Log } from '../log.ts';
import { rememberSecret } from '../redaction/known-secrets.ts';

export type Database = pg.Pool;

/**
 * A small pool. The embedded default is PGlite behind a socket, where all clients share one
 * session: therefore each statement is atomic, without advisory locks, session state, or
 * transactions held open across other I/O.
 */
export function connectPostgres(options: {
  url: string;
  log: Log;
  name: string;
  max?: number;
  /** How long a statement may take, ms; 0: as long as it takes. 10 s by default. */
  queryTimeout?: number;
}): Database {
  // Commands read the URL from the stack's files, not as a setting.
  rememberSecret(options.url);
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.name,
    max: options.max ?? 2,
    connectionTimeoutMillis: 3000,
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
