import { mintToken } from '../../ops/admin/webhook-seed.ts';
import { connectionPurpose } from '../../events/webhooks/sources.ts';
import { withNewAccount } from '../account.ts';
import type { Sealer } from '../../platform/sealing.ts';

/** Creates an account with a connection of the hosted storefront; resolves with its token. */
export async function seedConnection(options: {
  databaseUrl: string;
  sealer: Sealer;
  secret: string;
}): Promise<string> {
  const { sealer, secret } = options;
  const source = 'hosted_storefront';
  return withNewAccount(options.databaseUrl, 'bench webhooks', async (database, accountId) => {
    const token = mintToken();
    const sealed = sealer.seal(secret, connectionPurpose({ accountId, source }));
    await database.query(
      `INSERT INTO webhook_connections (account_id, source, token, secret)
       VALUES ($1, $2, $3, $4)`,
      [accountId, source, token, sealed],
    );
    return token;
  });
}
