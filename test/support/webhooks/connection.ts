import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { mintToken } from '../../../ops/admin/webhook-seed.ts';
import { signatureOf } from '../../../events/webhooks/signature.ts';
import { connectionPurpose, type WebhookSource } from '../../../events/webhooks/sources.ts';
import { parseSealingKeys } from '../../../platform/sealing.ts';
import { eventually, readyStack } from '../stack.ts';

/** Runs statements on the PostgreSQL of the stack under test. */
export async function withDatabase<T>(work: (database: pg.Client) => Promise<T>): Promise<T> {
  const database = new pg.Client(readyStack().database_url);
  await database.connect();
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}

/** An account without keys: deliveries need none. */
export async function bareAccount(): Promise<number> {
  return withDatabase(async (database) => {
    const { rows } = await database.query<{ id: string }>(
      "INSERT INTO accounts (name, retention_days) VALUES ('webhooks under test', 400) RETURNING id",
    );
    return Number(rows[0]?.id);
  });
}

export interface TestConnection {
  id: number;
  token: string;
  source: WebhookSource;
}

/** SEALING_KEY of the stack under test. */
export function sealingKey(): string {
  const given = (process.env['SEALING_KEY'] ?? '').trim();
  return given === ''
    ? readFileSync(join(process.env['RAVAND_HOME'] ?? '', 'sealing-key'), 'utf8').trim()
    : given;
}

/** Saves a connection of an account; `secret` undefined stores none. */
export async function createConnection(options: {
  accountId: number;
  source: WebhookSource;
  secret: string | undefined;
}): Promise<TestConnection> {
  const { accountId, source, secret } = options;
  const sealed =
    secret === undefined
      ? null
      : parseSealingKeys(sealingKey())?.seal(secret, connectionPurpose({ accountId, source }));
  const token = mintToken();
  const id = await withDatabase(async (database) => {
    const { rows } = await database.query<{ id: string }>(
      'INSERT INTO webhook_connections (account_id, source, label, token, secret) VALUES ($1, $2, $3, $4, $5) RETURNING id',
      [accountId, source, 'test', token, sealed],
    );
    return Number(rows[0]?.id);
  });
  return { id, token, source };
}

export interface Counters {
  received: number;
  accepted: number;
  rejected: number;
  last_error: string;
}

export async function countersOf({ id }: TestConnection): Promise<Counters> {
  return withDatabase(async (database) => {
    const { rows } = await database.query<Counters>(
      'SELECT received::int, accepted::int, rejected::int, last_error FROM webhook_connections WHERE id = $1',
      [id],
    );
    if (!rows[0]) throw new Error(`there is no connection ${id}`);
    return rows[0];
  });
}

/** The counters once so many deliveries are counted: they are written behind the answers. */
export async function countersAfter(
  connection: TestConnection,
  received: number,
): Promise<Counters> {
  return eventually(
    { ms: 15_000, every: 50, waitingFor: `${received} deliveries in the counters` },
    async () => {
      const counters = await countersOf(connection);
      return counters.received >= received ? counters : undefined;
    },
  );
}

/** Headers of a delivery of the hosted storefront, signed as the platform signs. */
export function hostedHeaders(
  topic: string,
  body: string | Buffer,
  secret: string,
): Record<string, string> {
  return {
    'X-Storefront-Topic': topic,
    'X-Storefront-Hmac-Sha256': signatureOf(Buffer.from(body), secret),
    'Content-Type': 'application/json',
  };
}

/** Headers of a delivery of the storefront plugin, signed as the plugin signs. */
export function pluginHeaders(
  topic: string,
  body: string | Buffer,
  secret: string,
): Record<string, string> {
  const [resource = '', event = ''] = topic.split('.');
  return {
    'X-Plugin-Webhook-Topic': topic,
    'X-Plugin-Webhook-Resource': resource,
    'X-Plugin-Webhook-Event': event,
    'X-Plugin-Webhook-Signature': signatureOf(Buffer.from(body), secret),
    'Content-Type': 'application/json',
  };
}
