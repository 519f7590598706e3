import { createWriteKey } from '../ops/admin/keys.ts';
import { makeKey, WRITE_KEY_PREFIX } from '../control-plane/keys.ts';
import { createLog } from '../platform/log.ts';
import { connectPostgres } from '../platform/postgres/pool.ts';

/** Creates an account with a write key, so that traffic does not mix with other data. */
export async function seedAccount(
  databaseUrl: string,
  name: string,
): Promise<{ accountId: number; writeKey: string }> {
  const database = connectPostgres({
    url: databaseUrl,
    log: createLog({ part: 'bench', level: 'error' }),
    name: 'ravand-bench',
    max: 1,
  });
  try {
    const made = await database.query<{ id: string }>(
      'INSERT INTO accounts (name) VALUES ($1) RETURNING id',
      [name],
    );
    const accountId = Number(made.rows[0]?.id);
    const { key, hash } = makeKey(WRITE_KEY_PREFIX);
    await createWriteKey(database, {
      account: accountId,
      app: 'bench',
      environment: 'bench',
      hash,
    });
    return { accountId, writeKey: key };
  } finally {
    await database.end();
  }
}
