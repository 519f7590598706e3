import { randomBytes } from 'node:crypto';
import {
  connectionPurpose,
  WEBHOOK_SOURCE_LABELS,
  WEBHOOK_SOURCES,
} from '../../events/webhooks/sources.ts';
import type { DemoKeys } from '../../cli/stack/ready.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Sealer } from '../../platform/sealing.ts';

interface Seed {
  database: Pick<Database, 'query'>;
  sealer: Sealer;
  accountId: number;
  appId: number;
  /** From the first time: the database holds the secrets sealed only. */
  kept: DemoKeys['webhooks'] | undefined;
}

/** A token as the server mints it (ingest 2.8): 24 random bytes, base64url without padding. */
export function mintToken(): string {
  return randomBytes(24).toString('base64url');
}

/**
 * Gives the demo account a connection for each source. Kept tokens and secrets stay valid; a
 * secret that no key of SEALING_KEY opens is resealed.
 */
export async function seedWebhooks({
  database,
  sealer,
  accountId,
  appId,
  kept,
}: Seed): Promise<DemoKeys['webhooks']> {
  const { rows } = await database.query<{ source: string; token: string; secret: Buffer | null }>(
    'SELECT source, token, secret FROM webhook_connections WHERE account_id = $1',
    [accountId],
  );
  const webhooks: DemoKeys['webhooks'] = {};
  for (const source of WEBHOOK_SOURCES) {
    const purpose = connectionPurpose({ accountId, source });
    const row = rows.find((one) => one.source === source);
    const before = kept?.[source];
    if (before && row?.token === before.token && opens(sealer, row.secret, purpose)) {
      webhooks[source] = before;
      continue;
    }
    const secret = before?.secret ?? randomBytes(24).toString('base64url');
    const answer = await database.query<{ token: string }>(
      `INSERT INTO webhook_connections (account_id, app_id, source, label, token, secret) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (account_id, source) DO UPDATE SET secret = excluded.secret, updated_at = clock_timestamp() RETURNING token`,
      [
        accountId,
        appId,
        source,
        WEBHOOK_SOURCE_LABELS[source],
        before?.token ?? mintToken(),
        sealer.seal(secret, purpose),
      ],
    );
    webhooks[source] = { token: answer.rows[0]?.token ?? '', secret };
  }
  return webhooks;
}

function opens(sealer: Sealer, sealed: Buffer | null, purpose: string): boolean {
  if (sealed === null) return true;
  try {
    sealer.open(sealed, purpose);
    return true;
  } catch {
    return false;
  }
}
