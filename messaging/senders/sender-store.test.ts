import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { AddressRules } from '../../platform/outbound/address-rules.ts';
import { AllowedHosts } from '../../platform/outbound/allowed-hosts.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { checkSender, type SenderRequest } from './check-sender.ts';
import { senderKey, SenderStore } from './sender-store.ts';

describe('stored senders', () => {
  let postgres: MigratedDatabase;
  let store: SenderStore;
  const author = { accountId: 1, actor: 'operator' };
  beforeAll(async () => {
    postgres = await migratedDatabase(['0001', '0012', '0060']);
    await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a'), (2, 'b')");
    store = new SenderStore(postgres.database);
  }, 60_000);
  afterAll(() => postgres.close());

  const save = (change: Partial<Parameters<SenderStore['save']>[1]> = {}) =>
    store.save(author, {
      ...{ channel: 'sms', provider: 'kavenegar', config: { sender: '10' } },
      ...{ secret: Buffer.from('sealed'), ...change },
    });

  it('are one of each channel, and each change raises the revision', async () => {
    const first = await save();
    const second = await save({ config: { sender: '20' }, secret: undefined });
    expect(second).toEqual({
      ...{ accountId: 1, channel: 'sms', provider: 'kavenegar', config: { sender: '20' } },
      ...{ secret: Buffer.from('sealed'), enabled: true, broken: undefined },
      revision: expect.any(Number) as number,
    });
    expect(second.revision).toBeGreaterThan(first.revision);
    expect(await store.list(1)).toEqual([second]);
    expect(await store.list(2)).toEqual([]);
    const keys = [senderKey(1, 'sms'), senderKey(1, 'email'), senderKey(2, 'sms')];
    expect([...(await store.find(keys)).keys()]).toEqual(['1:sms']);
  });

  it('of another provider replace the former one, without its secret', async () => {
    const former = await save();
    const other = await save({ provider: 'smpp', config: {}, secret: undefined });
    expect(other.secret).toBeUndefined();
    expect(await store.list(1)).toEqual([other]);
    const again = await save();
    expect(again.revision).toBeGreaterThan(other.revision);
    expect(other.revision).toBeGreaterThan(former.revision);
  });

  it('of FCM and APNs are side by side, each with its secret and its switch', async () => {
    const fcm = await save({ channel: 'push', provider: 'fcm', secret: Buffer.from('account') });
    const apns = await save({ channel: 'push', provider: 'apns', secret: undefined });
    expect(apns.secret).toBeUndefined();
    const push = async () => (await store.find([senderKey(1, 'push')])).get('1:push');
    expect(await push()).toEqual([apns, fcm]);
    const of = { channel: 'push' as const, provider: 'apns', enabled: false };
    expect(await store.setEnabled(author, of)).toMatchObject([{ provider: 'apns' }]);
    expect(await push()).toMatchObject([{ enabled: false }, { enabled: true }]);
    await store.markBroken({ ...fcm, provider: 'apns+fcm' }, 'of neither');
    await store.markBroken(fcm, 'refused');
    expect(await push()).toMatchObject([{ broken: undefined }, { broken: { reason: 'refused' } }]);
    expect(await store.setEnabled(author, { channel: 'push', enabled: true })).toHaveLength(2);
  });

  it('that the provider refuses say why, until they are changed', async () => {
    const { revision } = await save({ channel: 'bale' });
    const sender = { accountId: 1, channel: 'bale' as const, provider: 'kavenegar', revision };
    await store.markBroken({ ...sender, revision: revision - 1 }, 'of the former config');
    expect((await store.list(1)).find(({ channel }) => channel === 'bale')?.broken).toBeUndefined();
    await store.markBroken(sender, 'token\0');
    await store.markBroken(sender, 'token refused');
    const broken = (await store.list(1)).find(({ channel }) => channel === 'bale')?.broken;
    expect(broken?.reason).toBe('token refused');
    await store.markWorking(sender);
    expect((await store.list(1)).find(({ channel }) => channel === 'bale')?.broken).toBeUndefined();
    await store.markBroken(sender, 'token refused');
    expect((await save({ channel: 'bale' })).broken).toBeUndefined();
  });

  it('are switched off and on', async () => {
    const { revision } = await save({ channel: 'eitaa' });
    const off = await store.setEnabled(author, { channel: 'eitaa', enabled: false });
    expect(off).toMatchObject([{ enabled: false }]);
    expect(off[0]?.revision).toBeGreaterThan(revision);
    expect((await save({ channel: 'eitaa' })).enabled).toBe(true);
    expect(await store.setEnabled(author, { channel: 'rubika', enabled: true })).toEqual([]);
  });

  it('have audit lines without their config and their secret', async () => {
    const { rows } = await postgres.database.query<{ text: string }>(
      'SELECT details::text AS text FROM audit_lines ORDER BY id LIMIT 2',
    );
    expect(rows.map(({ text }) => JSON.parse(text) as unknown)).toEqual([
      { channel: 'sms', provider: 'kavenegar', enabled: true, new_secret: true },
      { channel: 'sms', provider: 'kavenegar', enabled: true, new_secret: false },
    ]);
  });
});

describe('a sender as it is entered', () => {
  const guard = {
    allowed: new AllowedHosts(['127.0.0.1:2525', '10.0.0.1']),
    rules: new AddressRules(),
  };
  const providers = {
    smtp: {
      channels: ['email' as const],
      needsSecret: true,
      parseConfig: (config: object) => {
        if ('junk' in config) throw new Error('junk is not a setting of smtp');
      },
    },
    inapp: { channels: ['inapp' as const], needsSecret: false, parseConfig: () => undefined },
  };
  const request: SenderRequest = {
    ...{ channel: 'email', provider: 'smtp', config: { host: 'smtp.example.com', port: 587 } },
    secret: 'password',
  };
  const check = (change: Partial<SenderRequest>, hasSecret = false) =>
    checkSender({ ...request, ...change }, { providers, guard, hasSecret });

  it('is accepted with the config of its provider and the keys of limits', () => {
    const config = { host: 'smtp.example.com', port: 587, max_per_second: 0.5, max_concurrent: 2 };
    expect(check({ config })).toEqual({ channel: 'email', provider: 'smtp', config });
    expect(check({ secret: undefined }, true)).toMatchObject({ provider: 'smtp' });
    expect(
      check({ channel: 'inapp', provider: 'inapp', config: {}, secret: undefined }),
    ).toBeTruthy();
  });

  test.each<[Partial<SenderRequest>, string]>([
    [{ channel: 'fax' }, 'there is no channel fax: there are email, sms'],
    [{ provider: 'pigeon' }, 'there is no provider pigeon: there are smtp, inapp'],
    [{ provider: 'toString' }, 'there is no provider toString'],
    [{ channel: 'sms' }, 'smtp does not send on the channel sms, but on email'],
    [{ config: [] }, 'the config is not a JSON object'],
    [{ config: { junk: 1 } }, 'junk is not a setting of smtp'],
    [{ config: { from: 'x'.repeat(16_384) } }, 'the config is longer than 16384 bytes'],
    [{ secret: undefined }, 'smtp needs a secret'],
    [{ secret: '' }, 'the secret is empty'],
    [{ secret: 'x'.repeat(65_537) }, 'the secret is longer than 65536 bytes'],
    [{ config: { max_per_second: 0 } }, 'max_per_second is not a number above 0 and up to 100000'],
    [{ config: { max_per_second: '5' } }, 'max_per_second is not a number'],
    [{ config: { max_concurrent: 1.5 } }, 'max_concurrent is not a whole number from 1 to 1000'],
  ])('is refused with %o: %s', (change, message) => expect(() => check(change)).toThrow(message));

  test.each([
    [{ url: 'http://169.254.169.254/x' }, 'a cloud metadata address'],
    [{ url: 'http://0x7f.1/' }, 'a loopback address'],
    [{ url: 'ftp://example.com' }, 'must begin with https:'],
    [{ url: 'https://a:b@example.com' }, 'a user or a password'],
    [{ host: '127.0.0.1', port: 25 }, 'a loopback address'],
    [{ host: '127.1', port: 25 }, 'a loopback address'],
    [{ host: '2130706433', port: 25 }, 'a loopback address'],
    [{ host: '::1', port: 25 }, 'a loopback address'],
    [{ host: '[::ffff:10.0.0.2]', port: 25 }, 'a private address'],
    [{ host: 'smtp.example.com/x', port: 25 }, 'host cannot be read'],
    [{ host: 'user@127.0.0.1', port: 25 }, 'host cannot be read'],
    [{ host: 'smtp.example.com:25', port: 25 }, 'host cannot be read'],
  ])('is refused at the address %o, which is %s', (config, message) =>
    expect(() => check({ config })).toThrow(message),
  );

  test.each([
    { host: '127.0.0.1', port: 2525 },
    { host: '10.0.0.1', port: 25 },
    { host: 'smtp.example.com', port: 25 },
    { host: '2a00:1450::1', port: 25 },
    { url: 'http://127.0.0.1:2525/fcm' },
    { url: 'https://fcm.example.com/v1' },
  ])('is accepted at the address %o', (config) => expect(check({ config })).toBeTruthy());
});
