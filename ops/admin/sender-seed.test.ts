import { afterAll, beforeAll, expect, it } from 'vitest';
import { openProvider } from '../../messaging/providers/registry.ts';
import { providerDeps } from '../../messaging/providers/testing/provider-deps.ts';
import { SenderStore } from '../../messaging/senders/sender-store.ts';
import { senderPurpose } from '../../messaging/senders/sender.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { makeSealingKey, parseSealingKeys, type Sealer } from '../../platform/sealing.ts';
import { seedSenders } from './sender-seed.ts';

const accountId = 1;
const sandbox = { url: 'http://127.0.0.1:9001', smtp: { host: '127.0.0.1', port: 9002 } };
const moved = { url: 'http://127.0.0.1:9011', smtp: { host: '127.0.0.1', port: 9012 } };
const newSealer = () => parseSealingKeys(makeSealingKey('a')) as Sealer;

let postgres: MigratedDatabase;
let store: SenderStore;
let sealer: Sealer;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0012', '0060']);
  store = new SenderStore(postgres.database);
  sealer = newSealer();
  await postgres.database.query(`INSERT INTO accounts (id, name) VALUES (1, 'demo'), (2, 'b')`);
}, 60_000);
afterAll(() => postgres.close());

const seed = (change: Partial<Parameters<typeof seedSenders>[0]> = {}) =>
  seedSenders({ database: postgres.database, sealer, accountId, sandbox, ...change });
const revisions = async () =>
  Object.fromEntries(
    (await store.list(1)).map(({ channel, provider, revision }) => [
      channel === 'push' ? provider : channel,
      revision,
    ]),
  );
const senderOf = async (name: string) =>
  (await store.list(1)).find((one) => one.channel === name || one.provider === name);

it('the demo account gets a sender for each channel, and each can be opened', async () => {
  await seed();
  const senders = await store.list(1);
  expect(senders.map(({ channel, provider }) => [channel, provider])).toEqual([
    ['email', 'smtp'],
    ['sms', 'kavenegar'],
    ['push', 'apns'],
    ['push', 'fcm'],
    ['web', 'webpush'],
    ['bale', 'bale'],
    ['eitaa', 'eitaa'],
    ['rubika', 'rubika'],
  ]);
  for (const { channel, provider, config, secret: sealed } of senders) {
    const secret = sealed ? sealer.open(sealed, senderPurpose({ accountId, channel })) : '';
    const opened = openProvider({
      ...{ channel, provider, config, accountId, secret, deps: providerDeps() },
    });
    await opened.close();
  }
});

it('a second time changes nothing', async () => {
  const before = await revisions();
  await seed();
  expect(await revisions()).toEqual(before);
});

it('senders follow the ports of the sandbox, except those that somebody changed', async () => {
  await store.save(
    { accountId, actor: 'operator' },
    {
      ...{ channel: 'sms', provider: 'kavenegar', secret: undefined },
      config: { sender: '3000', url: `${sandbox.url}/kavenegar` },
    },
  );
  await store.setEnabled({ accountId, actor: 'operator' }, { channel: 'bale', enabled: false });
  const before = await revisions();
  await seed({ sandbox: moved });
  expect((await senderOf('email'))?.config).toMatchObject({ host: '127.0.0.1', port: 9012 });
  expect((await senderOf('fcm'))?.config).toMatchObject({ url: 'http://127.0.0.1:9011/fcm' });
  expect((await senderOf('apns'))?.config).toMatchObject({ url: 'http://127.0.0.1:9011/apns' });
  expect((await senderOf('sms'))?.config).toEqual({
    ...{ sender: '3000', url: 'http://127.0.0.1:9001/kavenegar' },
  });
  expect(await senderOf('bale')).toMatchObject({ enabled: false, revision: before['bale'] });
  // It has no address of the sandbox, and browsers have subscribed with its key.
  expect((await senderOf('web'))?.revision).toBe(before['web']);
});

it('the service account of FCM names the place of its tokens', async () => {
  const sealed = (await senderOf('fcm'))?.secret ?? Buffer.alloc(0);
  const secret = sealer.open(sealed, senderPurpose({ accountId, channel: 'push' }));
  expect(JSON.parse(secret)).toMatchObject({ token_uri: 'http://127.0.0.1:9011/fcm/token' });
});

it('secrets that no key opens are made again', async () => {
  const other = newSealer();
  await seed({ sandbox: moved, sealer: other });
  const sealed = (await senderOf('eitaa'))?.secret ?? Buffer.alloc(0);
  expect(other.open(sealed, senderPurpose({ accountId, channel: 'eitaa' }))).toBe('sandbox');
});

it('without a sealing key there are only senders without a secret', async () => {
  await seed({ accountId: 2, sealer: undefined });
  expect((await store.list(2)).map(({ channel }) => channel)).toEqual(['email']);
});
