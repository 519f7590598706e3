import { randomBytes } from 'node:crypto';
import { inboxSecretPurpose } from '../../events/channels/inbox-credential.ts';
import { recordAudit } from '../../platform/audit.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { SealError, type Sealer } from '../../platform/sealing.ts';
import { sealingSettings } from '../../platform/sealing-settings.ts';
import { parseSettings } from '../../platform/settings.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { auditedChange } from './audited-change.ts';
import { adminCommand, idOption } from './command.ts';

/**
 * `./ravand admin app secret`: the inbox secret of an app, which is made the first time. With
 * `--rotate` a new one; that before it works until the next rotation, so that the app's backend can
 * move. Two rotations retire a secret that has leaked.
 */
export const appSecret = adminCommand({
  name: 'app secret',
  usage: 'app secret --account ID --app-id N [--rotate]',
  options: { account: REQUIRED, 'app-id': REQUIRED, rotate: { type: 'boolean' } },
  async run(line, { database, env }) {
    const app = {
      accountId: idOption(line.values, 'account'),
      appId: idOption(line.values, 'app-id'),
    };
    const { SEALING_KEY: sealer } = parseSettings(sealingSettings, env);
    if (!sealer)
      throw new CommandError(
        'SEALING_KEY is empty: secrets are stored sealed; set it as it is set for ingest-gateway',
      );
    const context = { database, sealer };
    return { inbox_secret: await inboxSecret(app, { ...context, rotate: line.values.rotate }) };
  },
});

interface App {
  accountId: number;
  appId: number;
}

/** The newest secret of an app, or a new one. Throws CommandError. */
export async function inboxSecret(
  app: App,
  context: { database: Pick<Database, 'query'>; sealer: Sealer; rotate: boolean | undefined },
): Promise<string> {
  const { database, sealer, rotate } = context;
  const { rows } = await database.query<{ secret: Buffer | null }>(
    `SELECT s.secret FROM apps a LEFT JOIN app_inbox_secrets s ON s.app_id = a.id AND s.retired_at IS NULL
     WHERE a.id = $1 AND a.account_id = $2 ORDER BY s.id DESC NULLS LAST LIMIT 1`,
    [app.appId, app.accountId],
  );
  const [row] = rows;
  if (!row) throw new CommandError(`the account ${app.accountId} has no app ${app.appId}`);
  if (row.secret === null || rotate === true)
    return makeSecret(app, { database, sealer, isFirst: row.secret === null });
  const secret = open(sealer, row.secret, app);
  await recordAudit(database, {
    ...{ accountId: app.accountId, actor: 'operator', action: 'app_secret.shown' },
    details: { app_id: app.appId },
  });
  return secret;
}

async function makeSecret(
  { accountId, appId }: App,
  {
    database,
    sealer,
    isFirst,
  }: { isFirst: boolean } & Pick<Parameters<typeof inboxSecret>[1], 'database' | 'sealer'>,
): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  const sealed = sealer.seal(secret, inboxSecretPurpose({ accountId, appId }));
  await auditedChange(database, {
    statement: `INSERT INTO app_inbox_secrets (account_id, app_id, secret) VALUES ($1, $2, $3)
      RETURNING account_id, jsonb_build_object('app_id', app_id) AS audit`,
    ...{ values: [accountId, appId, sealed], details: {} },
    action: isFirst ? 'app_secret.created' : 'app_secret.rotated',
  });
  // Gateways accept the two newest in any case.
  await database.query(
    `UPDATE app_inbox_secrets SET retired_at = clock_timestamp() WHERE app_id = $1 AND retired_at IS NULL
       AND id NOT IN (SELECT id FROM app_inbox_secrets WHERE app_id = $1 AND retired_at IS NULL ORDER BY id DESC LIMIT 2)`,
    [appId],
  );
  return secret;
}

function open(sealer: Sealer, sealed: Buffer, app: App): string {
  try {
    return sealer.open(Buffer.from(sealed), inboxSecretPurpose(app));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new CommandError(
      `the inbox secret of app ${app.appId} cannot be opened: ${error.message}`,
    );
  }
}
