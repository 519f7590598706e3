import { CommandError } from '../../cli/command.ts';
import { idHash } from '../../events/erasure/erased-people.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { idOption } from '../admin/command.ts';
import type { ErasureRow } from './erasure-row.ts';
import type { ErasureStore } from './erasure-store.ts';
import type { EraseLine } from './request.ts';

/**
 * The erasures that `erase verify` is about: the one with the number, or the last one of the person
 * whom --account and --user-id name, or each one whose names are stored. Throws CommandError when
 * there is none.
 */
export async function erasuresToVerify(
  { database, store }: { database: Pick<Database, 'query'>; store: ErasureStore },
  { words, values }: EraseLine,
): Promise<ErasureRow[]> {
  const [, word] = words;
  const names = namesOfLine(values);
  if (word !== undefined) {
    const id = idOption({ id: word }, 'id');
    const erasure = await store.find(id);
    if (!erasure) throw new CommandError(`there is no erasure ${id}: see ./ravand erase status`);
    return [erasure];
  }
  const all = await store.all();
  if (values.account === undefined) {
    if (names.length > 0)
      throw new CommandError('--account or the number of the erasure is missing', 2);
    return all.filter((erasure) => erasure.names !== undefined);
  }
  const accountId = idOption(values, 'account');
  if (names.length === 0) throw new CommandError('--user-id or --anonymous-id is missing', 2);
  const { rows } = await database.query<{ id: number; key: Buffer }>(
    'SELECT id, key FROM erasure_keys WHERE key IS NOT NULL',
  );
  const keys = new Map(rows.map(({ id, key }) => [id, key]));
  const last = all.findLast(({ accountId: account, keyId, hashes }) => {
    const key = keys.get(keyId);
    if (account !== accountId || !key) return false;
    return names.every((name) => {
      const hash = idHash(key, accountId, name);
      return hashes.some((one) => hash.equals(one));
    });
  });
  if (!last)
    throw new CommandError(
      `account ${accountId} has no erasure of this person, or its key was destroyed: see ./ravand erase status`,
    );
  return [last];
}

/** The distinct ids of a line, in the order of the options. */
export function namesOfLine(values: EraseLine['values']): string[] {
  return [...(values['user-id'] ?? []), ...(values['anonymous-id'] ?? [])];
}
