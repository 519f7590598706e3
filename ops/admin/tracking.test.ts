import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrackingKeys } from '../../events/channels/tracking-keys.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { rotatedTrackingKeys } from '../../platform/tracking/tracking-settings.ts';
import { tryTracking } from './tracking.ts';

let postgres: MigratedDatabase;
const keys = rotatedTrackingKeys('');
const tokens = parseTrackingKeys(keys);

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0053']);
}, 60_000);
afterAll(() => postgres.close());

describe('admin tracking', () => {
  it('rotates by a new key in front; tokens of the old one stay valid', () => {
    const rotated = rotatedTrackingKeys(keys);
    expect(rotated.endsWith(`,${keys}`)).toBe(true);
    expect(rotated).toMatch(/^2:[^,]{44},1:[^,]{44}$/);
    const message = { accountId: 1, ref: Buffer.alloc(12, 1) };
    const old = tokens?.write('open', message) ?? '';
    const after = parseTrackingKeys(rotated);
    expect(after?.read('open', old)).toEqual(message);
    expect(after?.write('open', message)).not.toBe(old);
  });

  it('gives the addresses of a message whose recipient is stored', async () => {
    if (!tokens) throw new Error('no keys');
    const { database } = postgres;
    const message = { accountId: 7, userId: 'u\\1', channel: 'email', address: 'A@b.IR' } as const;
    const found = await tryTracking(message, { database, tokens });
    const { rows } = await database.query<Record<string, unknown>>(
      'SELECT account_id::int, ref, user_id, channel, message_id, address, campaign_id::int FROM message_recipients',
    );
    const stored = { account_id: 7, channel: 'email', message_id: found.message_id };
    expect(rows).toMatchObject([
      { ...stored, user_id: 'u\\\\1', address: 'a@b.ir', campaign_id: 0 },
    ]);
    const tracked = tokens.read('unsubscribe', found.unsubscribe.replace('/e/u/', ''));
    expect(tracked).toEqual({ accountId: 7, ref: Buffer.from(rows[0]?.['ref'] as Uint8Array) });
  });
});
