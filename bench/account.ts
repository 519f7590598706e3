import { createWriteKey } from '../ops/admin/keys.ts';
import { makeKey, WRITE_KEY_PREFIX } from '../control-plane/keys/make-key.ts';
import { createLog } from '../platform/log.ts';
import { connectPostgres, type Database } from '../platform/postgres/pool.ts';

/** Runs `work` with an account of its own, so that traffic does not mix with other data. */
export async function withNewAccount<T>(
  databaseUrl: string,
  name: string,
  work: (database: Database, accountId: number) => Promise<T>,
): Promise<T> {
  const database = connectPostgres({
    url: databaseUrl,
    log: createLog({ part: 'bench', level: 'error' }),
    name: 'ravand-bench',
    max: 1,
  });
  try {
    const { rows } = await database.query<{ id: string }>(
      'INSERT INTO accounts (name) VALUES ($1) RETURNING id',
      [name],
    );
    return await work(database, Number(rows[0]?.id));
  } finally {
    await database.end();
  }
}

/** Creates an account with a write key. */
export async function seedAccount(
  databaseUrl: string,
  name: string,
): Promise<{ accountId: number; writeKey: string }> {
  return withNewAccount(databaseUrl, name, async (database, account) => {
    const { key, hash } = makeKey(WRITE_KEY_PREFIX);
    await createWriteKey(database, { account, app: 'bench', environment: 'bench', hash });
    return { accountId: account, writeKey: key };
  });
}
