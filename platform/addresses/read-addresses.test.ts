import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PGlite } from '@electric-sql/pglite';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../postgres/pool.ts';
import { emptyEngine } from '../postgres/testing/empty-engine.ts';
import { namesOf, readAddresses } from './read-addresses.ts';

const MIGRATIONS = join(import.meta.dirname, '../../deploy/migrations/postgres');

let engine: PGlite;
let database: Pick<Database, 'query'>;

beforeAll(async () => {
  engine = await emptyEngine();
  for (const file of ['0004_identities.sql', '0050_channels.sql', '0056_person_channels.sql'])
    await engine.exec(readFileSync(join(MIGRATIONS, file), 'utf8'));
  database = { query: engine.query.bind(engine) as unknown as Database['query'] };
  await engine.exec(`
    INSERT INTO identity_names (account_id, name, canonical, revision) VALUES
      (1, 'u', 'u', 1), (1, 'anon', 'u', 1), (2, 'anon', 'other', 1);
    INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, token_hash, details, received_at, gateway, sequence) VALUES
      (1, 'push', 'd1', 0, 'u', '', 'a', '{"push_provider":"fcm"}', 1, 'g', 1),
      (1, 'push', 'd2', 0, '', 'anon', 'b', '{"push_provider":"apns"}', 2, 'g', 2),
      (1, 'push', 'd3', 0, 'stranger', 'anon', 'c', '{"push_provider":"fcm"}', 3, 'g', 3),
      (2, 'push', 'd4', 0, 'u', '', 'd', '{"push_provider":"fcm"}', 3, 'g', 3),
      (1, 'bale', '77', 0, 'u', '', NULL, NULL, 4, 'g', 4);
    INSERT INTO channel_tokens (account_id, token_hash, address_id, received_at, gateway, sequence) VALUES
      (1, 'a', 'd1', 1, 'g', 1), (1, 'b', 'd9', 9, 'g', 9), (1, 'c', 'd3', 3, 'g', 3), (2, 'd', 'd4', 3, 'g', 3);
    INSERT INTO channel_ends (account_id, channel, user_id, address_id, reason, received_at, gateway, sequence) VALUES
      (1, 'bale', 'u', '', 'unlinked', 5, 'g', 5);
    INSERT INTO channel_suppressions (account_id, channel, address, suppressed, reason, user_id, received_at, gateway, sequence) VALUES
      (1, 'email', 'a@b.ir', true, 'hard_bounce', 'u', 6, 'g', 6), (1, 'email', 'c@d.ir', false, '', 'u', 6, 'g', 6);
    INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence) VALUES
      (1, 'u', 'email', 'unsubscribed', 7, 'g', 7), (1, 'anon', 'email', 'subscribed', 8, 'g', 8), (1, 'u', 'sms', 'unsubscribed', 7, 'g', 7);
  `);
}, 30_000);
afterAll(() => engine.close());

describe('the addresses of a person', () => {
  it('are those of all names, with what ended them', async () => {
    const { addresses, consents } = await readAddresses(database, { accountId: 1, userId: 'u' });
    const found = addresses
      .map(({ channel, kind, id, provider, active, reason }) =>
        [channel, kind, id, provider, active, reason].join(' '),
      )
      .sort();
    expect(found).toEqual([
      'bale chat 77  false unlinked',
      'email address a@b.ir  false hard_bounce',
      'push device d1 fcm true ',
      'push device d2 apns false token_moved',
    ]);
    expect(consents).toEqual({ email: 'subscribed', sms: 'unsubscribed' });
  });

  it('are the same under each name, and nobody has those of another account', async () => {
    const both = await Promise.all(
      ['u', 'anon'].map((userId) => readAddresses(database, { accountId: 1, userId })),
    );
    expect(both[1]).toEqual(both[0]);
    const other = await readAddresses(database, { accountId: 2, userId: 'u' });
    expect(other.addresses.map(({ id }) => id)).toEqual(['d4']);
    expect(await readAddresses(database, { accountId: 1, userId: 'nobody' })).toEqual({
      addresses: [],
      consents: {},
    });
  });

  it('are separate again when a merge is undone', async () => {
    await engine.exec(
      `UPDATE identity_names SET canonical = name, revision = 2 WHERE account_id = 1 AND name = 'anon'`,
    );
    const [user, anonymous] = await Promise.all(
      ['u', 'anon'].map((userId) => readAddresses(database, { accountId: 1, userId })),
    );
    expect(user?.addresses.map(({ id }) => id).sort()).toEqual(['77', 'a@b.ir', 'd1']);
    expect(user?.consents).toEqual({ email: 'unsubscribed', sms: 'unsubscribed' });
    expect(anonymous?.addresses.map(({ id }) => id)).toEqual(['d2']);
    expect(anonymous?.consents).toEqual({ email: 'subscribed' });
    await engine.exec(`UPDATE identity_names SET canonical = 'u' WHERE account_id = 1`);
  });

  it('belong to names that are read from the identities', async () => {
    expect((await namesOf(database, { accountId: 1, userId: 'anon' })).sort()).toEqual([
      'anon',
      'u',
    ]);
    expect(await namesOf(database, { accountId: 1, userId: 'nobody' })).toEqual(['nobody']);
  });

  it('are found by indexes, whatever the account has', async () => {
    const tables = `'channel_addresses', 'channel_ends', 'channel_suppressions', 'channel_consents', 'identity_names'`;
    await engine.exec(`
      INSERT INTO identity_names (account_id, name, canonical, revision) SELECT 3, 'u' || n, 'u' || n, 1 FROM generate_series(1, 3000) AS n;
      INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, token_hash, details, received_at, gateway, sequence)
        SELECT 3, 'web', 'e' || n, 0, 'u' || n, 'a' || n, NULL, '{}', n, 'g', n FROM generate_series(1, 3000) AS n;
      INSERT INTO channel_ends (account_id, channel, user_id, address_id, reason, received_at, gateway, sequence)
        SELECT 3, 'web', '', 'e' || n, 'unsubscribed', 5000, 'g', n FROM generate_series(1, 3000) AS n;
      INSERT INTO channel_suppressions (account_id, channel, address, suppressed, reason, user_id, received_at, gateway, sequence)
        SELECT 3, 'email', 'm' || n, true, 'hard_bounce', 'u' || n, 6, 'g', n FROM generate_series(1, 3000) AS n;
      INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence)
        SELECT 3, 'u' || n, 'email', 'subscribed', 7, 'g', n FROM generate_series(1, 3000) AS n;
      ANALYZE;
      BEGIN;`);
    const { addresses } = await readAddresses(database, { accountId: 3, userId: 'u1500' });
    const { rows } = await engine.query(
      `SELECT relname FROM pg_stat_xact_user_tables WHERE relname IN (${tables}) AND seq_tup_read > 0`,
    );
    await engine.exec('COMMIT');
    expect(addresses.map(({ id, reason }) => [id, reason])).toEqual([
      ['e1500', 'unsubscribed'],
      ['m1500', 'hard_bounce'],
    ]);
    expect(rows).toEqual([]);
  });
});
