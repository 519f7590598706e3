import { mintToken } from '../../ops/admin/webhook-seed.ts';
import { connectionPurpose } from '../../events/webhooks/sources.ts';
import { createLog } from '../../platform/log.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import type { Sealer } from '../../platform/sealing.ts';

/** Creates an account with a connection of the hosted storefront; resolves with its token. */
export async function seedConnection(options: {
  databaseUrl: string;
  sealer: Sealer;
  secret: string;
}): Promise<string> {
  const { databaseUrl, sealer, secret } = options;
  const database = connectPostgres({
    url: databaseUrl,
    log: createLog({ part: 'bench', level: 'error' }),
    name: 'ravand-bench',
    max: 1,
  });
  try {
    const made = await database.query<{ id: string }>(
      "INSERT INTO accounts (name) VALUES ('bench webhooks') RETURNING id",
    );
    const accountId = Number(made.rows[0]?.id);
    const token = mintToken();
    const sealed = sealer.seal(
      secret,
      connectionPurpose({ accountId, source: 'hosted_storefront' }),
    );
    await database.query(
      'INSERT INTO webhook_connections (account_id, source, token, secret) VALUES ($1, $2, $3, $4)',
      [accountId, 'hosted_storefront', token, sealed],
    );
    return token;
  } finally {
    await database.end();
  }
}
