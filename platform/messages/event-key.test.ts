import { expect, it } from 'vitest';
import { migratedDatabase } from '../postgres/testing/migrated-database.ts';
import { readEventKey } from './event-key.ts';

it('each installation has a key of 32 bytes of its own, and no second one', async () => {
  const [one, other] = await Promise.all([
    migratedDatabase(['0001', '0060']),
    migratedDatabase(['0001', '0060']),
  ]);
  try {
    const key = await readEventKey(one.database);
    expect(key.symmetricKeySize).toBe(32);
    expect((await readEventKey(one.database)).equals(key)).toBe(true);
    expect((await readEventKey(other.database)).equals(key)).toBe(false);
    await expect(
      one.database.query(`INSERT INTO platform_event_key (key) SELECT key FROM platform_event_key`),
    ).rejects.toThrow();
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
}, 60_000);
