import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../events/channels/channel-change.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { resolveMany, resolveRecipients } from './resolve-recipients.ts';
import type { Resolved } from './resolved.ts';
import { clickhouseWith, type ProfileRow } from './testing/stored-profiles.ts';

const TABLES = [
  ...['identity_names', 'channel_addresses', 'channel_ends', 'channel_tokens'],
  ...['channel_suppressions', 'channel_consents', 'announced_opt_outs'],
];
const { signal } = new AbortController();

let store: MigratedDatabase;

beforeAll(async () => {
  store = await migratedDatabase(['0001', '0004', '0050', '0056', '0060', '0067']);
}, 30_000);
afterAll(() => store.close());
beforeEach(async () => {
  for (const table of TABLES) await store.database.query(`DELETE FROM ${table}`);
});

const sql = (text: string, values: unknown[] = []) => store.database.query(text, values);

async function resolve(
  channel: Channel,
  people: readonly string[],
  profiles: readonly ProfileRow[] = [],
): Promise<Map<string, Resolved>> {
  return resolveRecipients(
    { database: store.database, clickhouse: clickhouseWith(profiles) },
    {
      ...{ accountId: 1, channel },
      people: people.map((personId) => ({ personId, userId: personId })),
    },
    { signal },
  );
}

async function resolveOne(
  channel: Channel,
  person: string,
  profiles: readonly ProfileRow[] = [],
): Promise<Resolved> {
  const found = (await resolve(channel, [person], profiles)).get(person);
  if (!found) throw new Error(`${person} was not resolved`);
  return found;
}

const merge = (...names: string[]) =>
  sql(
    `INSERT INTO identity_names (account_id, name, canonical, revision) SELECT 1, name, $2, 1 FROM unnest($1::text[]) AS n (name)`,
    [names, names[0]],
  );

async function register(
  channel: Channel,
  of: { id: string; user?: string; anonymous?: string; details?: object; at: number },
): Promise<void> {
  const { id, user = '', anonymous = '', details = null, at } = of;
  await sql(
    `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, details, received_at, gateway, sequence)
     VALUES (1, $1, $2, 0, $3, $4, $5::jsonb, $6, 'g', $6)`,
    [channel, id, user, anonymous, details && JSON.stringify(details), at],
  );
}
const device = (token: string, provider = 'fcm') => ({
  push_token: token,
  push_provider: provider,
});

const consent = (user: string, state: string, at: number, channel = 'email') =>
  sql(
    `INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence) VALUES (1, $1, $2, $3, $4, 'g', $4)`,
    [user, channel, state, at],
  );
const suppress = (
  address: string,
  { user = '', reason = 'hard_bounce', at = 1, holds = true } = {},
) =>
  sql(
    `INSERT INTO channel_suppressions (account_id, channel, address, suppressed, reason, user_id, received_at, gateway, sequence)
     VALUES (1, 'email', $1, $2, $3, $4, $5, 'g', $5)`,
    [address, holds, reason, user, at],
  );
const announce = (user: string, at: number, channel = 'email') =>
  sql(
    `INSERT INTO announced_opt_outs (account_id, user_id, channel, received_at) VALUES (1, $1, $2, $3)`,
    [user, channel, at],
  );
const mail = (name: string, email: string): ProfileRow => ({ name, columns: { email } });

describe('the address of a recipient', () => {
  it('is the e-mail address of the profile in lower case, and none when no server takes it', async () => {
    const profiles = [mail('a', ' Sara@Example.IR '), mail('b', 'sara\n@x.ir'), mail('c', 'a@b@c')];
    const found = await resolve('email', ['a', 'b', 'c', 'd'], profiles);
    expect([...found].map(([name, { targets }]) => [name, targets])).toEqual([
      ['a', [{ kind: 'email', address: 'sara@example.ir' }]],
      ...['b', 'c', 'd'].map((name) => [name, []]),
    ]);
    expect(found.get('a')?.address).toBe('sara@example.ir');
    expect(found.get('b')?.address).toBe('');
  });

  it.each([
    ['۰۹۱۲ ۳۴۵ ۶۷۸۹', [{ kind: 'phone', number: '+989123456789' }]],
    ['+98 912 345 6789', [{ kind: 'phone', number: '+989123456789' }]],
    ['021 8888 8888', []],
  ])('is the mobile number of the profile in one notation: %s', async (phone, targets) => {
    const found = await resolveOne('sms', 'a', [{ name: 'a', columns: { phone } }]);
    expect(found.targets).toEqual(targets);
  });

  it('is each active device under all names, the last registered first', async () => {
    await merge('u', 'anon');
    await register('push', { id: 'd1', user: 'u', details: device('t1'), at: 1 });
    await register('push', {
      id: 'd2',
      anonymous: 'anon',
      details: device('t\\\\2', 'apns'),
      at: 2,
    });
    await register('push', {
      id: 'd3',
      user: 'stranger',
      anonymous: 'anon',
      details: device('t3'),
      at: 3,
    });
    await register('push', { id: 'd4', user: 'anon', details: device('t4'), at: 4 });
    await register('web', {
      id: 'https://w',
      user: 'u',
      details: { p256dh: 'p', auth: 'a' },
      at: 5,
    });
    await sql(
      `INSERT INTO channel_ends (account_id, channel, user_id, address_id, reason, received_at, gateway, sequence) VALUES (1, 'push', '', 'd4', 'unregistered', 9, 'g', 9)`,
    );
    const { targets, address, canonical, names } = await resolveOne('push', 'anon');
    expect(targets).toEqual([
      { kind: 'device', deviceId: 'd2', provider: 'apns', token: 't\\2', registeredAt: 2 },
      { kind: 'device', deviceId: 'd1', provider: 'fcm', token: 't1', registeredAt: 1 },
    ]);
    expect([address, canonical, [...names].sort()]).toEqual(['d2', 'u', ['anon', 'u']]);
    expect((await resolveOne('web', 'u')).targets).toEqual([
      { kind: 'browser', endpoint: 'https://w', p256dh: 'p', auth: 'a' },
    ]);
  });

  it('is at most ten devices', async () => {
    await merge('u', 'v');
    for (let at = 1; at <= 12; at++)
      await register('push', {
        ...{ id: `d${at}`, user: at % 2 === 0 ? 'u' : 'v', details: device(`t${at}`), at },
      });
    const { targets } = await resolveOne('push', 'u');
    expect(targets.map((one) => (one.kind === 'device' ? one.deviceId : ''))).toEqual([
      ...['d12', 'd11', 'd10', 'd9', 'd8', 'd7', 'd6', 'd5', 'd4', 'd3'],
    ]);
  });

  it('is the chats of a messenger, and the inbox of the user', async () => {
    await register('bale', { id: '77', user: 'u', at: 1 });
    await register('eitaa', { id: '78', user: 'u', at: 1 });
    expect((await resolveOne('bale', 'u')).targets).toEqual([{ kind: 'chat', chatId: '77' }]);
    expect((await resolveOne('inapp', 'u')).targets).toEqual([
      { kind: 'inbox', accountId: 1, userId: 'u' },
    ]);
    expect((await resolveOne('inapp', 'ی'.repeat(129))).targets).toEqual([]);
  });

  it('is found under names with every character', async () => {
    await register('bale', { id: '1', user: 'a\\\\b\\0', at: 1 });
    expect((await resolveOne('bale', 'a\\b\0')).targets).toEqual([{ kind: 'chat', chatId: '1' }]);
  });
});

describe('a suppression', () => {
  it('is of the address, whoever has it', async () => {
    await suppress('sara@x.ir', { user: 'somebody' });
    await suppress('ali@x.ir', { user: 'ali', holds: false });
    const found = await resolve(
      'email',
      ['sara', 'ali'],
      [...[mail('sara', 'Sara@x.ir'), mail('ali', 'ali@x.ir')]],
    );
    expect([...found.values()].map(({ suppressed }) => suppressed)).toEqual([true, false]);
  });

  it('of a former address is none of the new one, but a complaint is an opt-out', async () => {
    await suppress('old@x.ir', { user: 'sara' });
    expect(await resolveOne('email', 'sara', [mail('sara', 'new@x.ir')])).toMatchObject({
      ...{ suppressed: false, consent: undefined },
    });
    await suppress('older@x.ir', { user: 'sara', reason: 'complaint abuse', at: 5 });
    expect(await resolveOne('email', 'sara', [mail('sara', 'new@x.ir')])).toMatchObject({
      ...{ suppressed: false, consent: 'unsubscribed' },
    });
    await consent('sara', 'subscribed', 6);
    expect((await resolveOne('email', 'sara')).consent).toBe('subscribed');
  });
});

describe('the consent of a recipient', () => {
  it('is the last one under any name', async () => {
    await merge('u', 'v', 'w');
    await consent('u', 'unsubscribed', 5);
    await consent('v', 'subscribed', 7);
    await consent('w', 'unsubscribed', 9, 'sms');
    expect((await resolveOne('email', 'w')).consent).toBe('subscribed');
    expect((await resolveOne('sms', 'u')).consent).toBe('unsubscribed');
    expect((await resolveOne('push', 'u')).consent).toBeUndefined();
  });

  it('is refused by an announced opt-out, until a later consent', async () => {
    await merge('u', 'v');
    await announce('v', 7);
    expect((await resolveOne('email', 'u')).consent).toBe('unsubscribed');
    expect((await resolveOne('sms', 'u')).consent).toBeUndefined();
    await consent('u', 'subscribed', 6);
    expect((await resolveOne('email', 'u')).consent).toBe('unsubscribed');
    await sql('UPDATE channel_consents SET received_at = 8');
    expect((await resolveOne('email', 'u')).consent).toBe('subscribed');
  });

  it('is not taken for granted of a person with more names than are looked up', async () => {
    await merge(...Array.from({ length: 1001 }, (_, at) => `n${at}`));
    expect((await resolveOne('email', 'n7')).consent).toBe('unsubscribed');
  });

  it.each([
    ['email', 'email_opt_in', 'false', [true, false]],
    ['sms', 'sms_opt_in', 'False', [true, false]],
    ['push', 'push_opt_in', '0', [true, false]],
    ['web', 'push_opt_in', 'false', [true, false]],
    ['email', 'email_opt_in', 'true', [false, true]],
    ['email', 'sms_opt_in', 'false', [false, false]],
    ['bale', 'push_opt_in', 'false', [false, false]],
  ] as const)('on %s follows the trait %s=%s', async (channel, trait, value, flags) => {
    const found = await resolveOne(channel, 'u', [{ name: 'u', columns: { [trait]: value } }]);
    expect([found.optedOut, found.optedIn]).toEqual(flags);
  });
});

describe('the variables of a recipient', () => {
  it('are the traits and columns that are set, as the kind they were sent as', async () => {
    const { profile } = await resolveOne('email', 'u', [
      {
        name: 'u',
        columns: { first_name: 'سارا', email_opt_in: 'true', city: '' },
        traits: { plan: 'gold', visits: '12', vip: 'true', word: 'true', empty: '' },
        numbers: { visits: 12, vip: 1 },
      },
    ]);
    expect({ ...profile }).toEqual({
      ...{ first_name: 'سارا', email_opt_in: true, plan: 'gold', visits: 12, vip: true },
      word: 'true',
    });
  });

  it('of a merged person are the newest write of each', async () => {
    await merge('u', 'anon');
    const { profile, address } = await resolveOne('email', 'u', [
      {
        ...{ name: 'u', columns: { email: 'old@x.ir', city: 'تهران' } },
        ...{ traits: { visits: '3', plan: 'gold' }, numbers: { visits: 3 } },
        stamps: { email: '01', city: '05', visits: '09', plan: '01' },
      },
      {
        ...{ name: 'anon', columns: { email: 'new@x.ir', city: 'قم' } },
        ...{ traits: { visits: '2', plan: 'x', more: 'y' }, numbers: { visits: 2, plan: 4 } },
        stamps: { email: '02', city: '04', visits: '08', plan: '02', more: '01' },
      },
    ]);
    expect(address).toBe('new@x.ir');
    expect({ ...profile }).toEqual({
      ...{ email: 'new@x.ir', city: 'تهران', visits: 3, plan: 4, more: 'y' },
    });
  });

  it('of a profile that is too large are cut', async () => {
    const traits = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`t${at}`, 'x'.repeat(1000)]),
    );
    const { profile } = await resolveOne('email', 'u', [{ name: 'u', traits }]);
    expect(Object.keys(profile)).toHaveLength(65);
  });
});

/** Rows that were read by scans of whole tables, flushed to the statistics or not. */
async function tuplesRead(): Promise<number> {
  await sql('SELECT pg_stat_force_next_flush()');
  const { rows } = await sql(
    'SELECT sum(seq_tup_read)::float8 AS tuples FROM pg_stat_user_tables WHERE relname = ANY ($1::text[])',
    [TABLES],
  );
  return (rows[0] as { tuples: number }).tuples;
}

describe('a batch of recipients', () => {
  it('of one account never gets what another one knows', async () => {
    await register('bale', { id: '77', user: 'u', at: 1 });
    const deps = {
      database: store.database,
      clickhouse: clickhouseWith([{ account: 1, name: 'u', columns: { city: 'قم' } }]),
    };
    const of = { accountId: 2, channel: 'bale' as const, people: [{ personId: 'u', userId: 'u' }] };
    const found = (await resolveRecipients(deps, of, { signal })).get('u');
    expect(found).toMatchObject({ targets: [], profile: {} });
  });

  it('is read as far as the messages of a batch name it, and whole when one may name anything', async () => {
    const clickhouse = clickhouseWith([]);
    const readFor = async (...named: (string[] | undefined)[]) => {
      const one = { accountId: 1, channel: 'bale' as const, personId: 'u', userId: 'u' };
      const wanted = named.map((variables) => ({ ...one, variables }));
      await resolveMany({ database: store.database, clickhouse }, wanted, { signal });
      const statement = clickhouse.statements.at(-1) ?? '';
      const parts = ['city', 'country', 'traits AS traits', 'mapFilter('];
      return parts.filter((part) => statement.includes(` ${part}`));
    };
    expect(await readFor(['city'])).toEqual(['city']);
    expect(await readFor(['city'], ['country', 'plan'])).toEqual(['city', 'country', 'mapFilter(']);
    expect(await readFor(['city'], undefined)).toEqual(['city', 'country', 'traits AS traits']);
  });

  it('is read as far as its channel needs it: where to send, and whether it may', async () => {
    const clickhouse = clickhouseWith([]);
    const readFor = async (channel: Channel) => {
      const wanted = [{ accountId: 1, channel, personId: 'u', userId: 'u', variables: [] }];
      await resolveMany({ database: store.database, clickhouse }, wanted, { signal });
      const [, read = ''] = /events, (.*) FROM/.exec(clickhouse.statements.pop() ?? '') ?? [];
      return read;
    };
    expect(await readFor('email')).toBe('email, email_opt_in');
    expect(await readFor('sms')).toBe('phone, sms_opt_in');
    expect(await readFor('push')).toBe('push_opt_in');
    // Nobody asks for a profile.
    expect(await readFor('bale')).toBe('');
    expect(clickhouse.statements).toEqual([]);
  });

  it('takes one statement of each kind for 500 people, and two for 501', async () => {
    const clickhouse = clickhouseWith([]);
    let statements = 0;
    const database = {
      query: (...call: unknown[]) => {
        statements++;
        return (store.database.query as (...all: unknown[]) => unknown)(...call);
      },
    } as unknown as MigratedDatabase['database'];
    const people = Array.from({ length: 501 }, (_, at) => ({
      personId: `p${at}`,
      userId: `p${at}`,
    }));
    const of = (count: number) => ({
      ...{ accountId: 1, channel: 'bale' as const },
      people: people.slice(0, count),
    });
    expect((await resolveRecipients({ database, clickhouse }, of(500), { signal })).size).toBe(500);
    expect([statements, clickhouse.statements.length]).toEqual([1, 1]);
    expect((await resolveRecipients({ database, clickhouse }, of(501), { signal })).size).toBe(501);
    expect([statements, clickhouse.statements.length]).toEqual([3, 3]);
  });

  it('is found by indexes: also with a plan that was made when the tables were empty', async () => {
    await resolve('push', ['p1']);
    await sql(
      `INSERT INTO identity_names (account_id, name, canonical, revision) SELECT 3, 'u' || n, 'u' || (n / 2), 1 FROM generate_series(1, 3000) AS n`,
    );
    await sql(
      `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, token_hash, details, received_at, gateway, sequence)
       SELECT 3, 'push', 'e' || n, 0, CASE WHEN n % 2 = 0 THEN 'u' || n ELSE '' END, 'u' || n, ('t' || n)::bytea, '{"push_token":"t","push_provider":"fcm"}', n, 'g', n FROM generate_series(1, 3000) AS n`,
    );
    await sql(
      `INSERT INTO channel_tokens (account_id, token_hash, address_id, received_at, gateway, sequence) SELECT 3, ('t' || n)::bytea, 'e' || n, n, 'g', n FROM generate_series(1, 3000) AS n`,
    );
    await sql(
      `INSERT INTO channel_ends (account_id, channel, user_id, address_id, reason, received_at, gateway, sequence)
       SELECT 3, 'push', '', 'e' || n, 'unregistered', 1, 'g', 1 FROM generate_series(1, 3000) AS n`,
    );
    await sql(
      `INSERT INTO channel_suppressions (account_id, channel, address, suppressed, reason, user_id, received_at, gateway, sequence)
       SELECT 3, 'email', 'm' || n || '@x.ir', true, 'complaint', 'u' || n, 6, 'g', n FROM generate_series(1, 3000) AS n`,
    );
    await sql(
      `INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence) SELECT 3, 'u' || n, 'push', 'subscribed', 7, 'g', n FROM generate_series(1, 3000) AS n`,
    );
    await sql(
      `INSERT INTO announced_opt_outs (account_id, user_id, channel, received_at) SELECT 3, 'u' || n, 'email', 7 FROM generate_series(1, 3000) AS n`,
    );
    const people = Array.from({ length: 200 }, (_, at) => `u${2 + at * 10}`);
    const profiles = people.map((name) => ({
      ...mail(name, `m${name.slice(1)}@x.ir`),
      account: 3,
    }));
    const deps = { database: store.database, clickhouse: clickhouseWith(profiles) };
    const wanted = people.map((personId) => ({ personId, userId: personId }));
    for (const analyze of [false, true]) {
      if (analyze) await sql('ANALYZE');
      const before = await tuplesRead();
      const push = await resolveRecipients(
        deps,
        { accountId: 3, channel: 'push', people: wanted },
        { signal },
      );
      const email = await resolveRecipients(
        deps,
        { accountId: 3, channel: 'email', people: wanted },
        { signal },
      );
      expect(await tuplesRead()).toBe(before);
      expect([...push.values()].every(({ targets }) => targets.length === 2)).toBe(true);
      expect([...push.values()].every((one) => one.consent === 'subscribed')).toBe(true);
      expect([...email.values()].every(({ suppressed }) => suppressed)).toBe(true);
      expect([...email.values()].every((one) => one.consent === 'unsubscribed')).toBe(true);
    }
  });
});
