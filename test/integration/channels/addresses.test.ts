import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../../contract/management/host.ts';
import { trackedMessage } from '../../support/channels.ts';
import { addressesOf } from '../../support/channels/person.ts';
import { readClickhouseState } from '../../support/channels/stored-channels.ts';
import { post } from '../../support/client.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

const MAILS = join(import.meta.dirname, '../../../events/channels/bounce/testing');

const client = openClickhouse();
const database = openPostgres();
let account: TestAccount;

beforeAll(async () => {
  account = await createAccount('addresses');
});

async function send(path: string, body: unknown): Promise<void> {
  const { status, body: answer } = await post(
    `${readyStack().ingest_url}${path}`,
    account.writeKey,
    body,
  );
  expect([status, answer]).toMatchObject([200, { status: 'ok' }]);
}
const register = (device_id: string, user_id: string) =>
  send('/v1/devices', { device_id, user_id, platform: 'ios', push_token: `token of ${device_id}` });

const until = (waitingFor: string, probe: () => Promise<boolean>, every = 500) =>
  eventually({ ms: 60_000, every, waitingFor }, async () => ((await probe()) ? true : undefined));

/** A key counts 24 times a minute at most. */
const untilCount = (waitingFor: string, probe: (count: number) => boolean) =>
  until(waitingFor, async () => probe(await countWithPush()), 4000);

/** Devices of a person, and whether each is active. */
async function devicesOf(userId: string): Promise<Record<string, boolean>> {
  const { addresses } = await addressesOf(account.accountId, userId);
  return Object.fromEntries(addresses.map(({ id, active }) => [id, active]));
}

async function countWithPush(): Promise<number> {
  const body = { attribute: 'has_push', op: 'eq', value: true };
  const answer = await call('POST', '/v1/audiences/count', { key: account.managementKey, body });
  expect(answer.status).toBe(200);
  return (answer.body as { count: number }).count;
}

describe('a device that is registered at the gateway', () => {
  it('is in admin addresses, in ClickHouse and in the count of has_push until it is not', async () => {
    await send('/v1/identify', { user_id: 'سارا', traits: { city: 'تهران' } });
    await register('phone', 'سارا');
    await until('the device in PostgreSQL', async () => 'phone' in (await devicesOf('سارا')));
    const { addresses } = await addressesOf(account.accountId, 'سارا');
    expect(addresses).toMatchObject([
      { channel: 'push', kind: 'device', id: 'phone', provider: 'apns', active: true, reason: '' },
    ]);
    await until('the device in ClickHouse', async () =>
      Object.hasOwn(await readClickhouseState(client, account.accountId), 'push phone'),
    );
    expect((await readClickhouseState(client, account.accountId))['push phone']).toEqual({
      ...{ name: 'سارا', active: true },
    });
    await untilCount('has_push of one person', (count) => count === 1);

    await send('/v1/devices/unregister', { device_id: 'phone' });
    await untilCount('has_push of nobody', (count) => count === 0);
    expect(await devicesOf('سارا')).toEqual({ phone: false });
  });

  it('moves to the user who registers it later, and leaves its token to another device', async () => {
    await register('shared', 'first');
    await register('shared', 'second');
    await until('the move', async () => 'shared' in (await devicesOf('second')));
    expect(await devicesOf('first')).toEqual({});
    await send('/v1/devices', {
      ...{ device_id: 'newer', user_id: 'third', platform: 'ios', push_token: 'token of shared' },
    });
    await until('the token to move', async () => !(await devicesOf('second'))['shared']);
    expect((await addressesOf(account.accountId, 'second')).addresses).toMatchObject([
      { id: 'shared', active: false, reason: 'token_moved' },
    ]);
  });
});

describe('people who are merged', () => {
  beforeAll(async () => {
    account = await createAccount('merged addresses');
  });

  it('have the addresses of all their names, until the merge is undone', async () => {
    for (const user_id of ['web visitor', 'customer'])
      await send('/v1/identify', { user_id, traits: { name: user_id } });
    await register('laptop', 'web visitor');
    await register('tablet', 'customer');
    await untilCount('two people with push', (count) => count === 2);
    await send('/v1/alias', { user_id: 'customer', previous_id: 'web visitor' });
    const both = { laptop: true, tablet: true };
    const has = async (userId: string, devices: object) =>
      JSON.stringify(Object.entries(await devicesOf(userId)).sort()) ===
      JSON.stringify(Object.entries(devices).sort());
    await until('the merged devices', () => has('customer', both));
    expect(await has('web visitor', both)).toBe(true);
    await untilCount('one person with push', (count) => count === 1);

    await admin(
      ...['alias', 'undo', '--account', String(account.accountId)],
      ...['--previous-id', 'web visitor'],
    );
    await until('the devices of the customer', () => has('customer', { tablet: true }));
    await until('the devices of the visitor', () => has('web visitor', { laptop: true }));
    await untilCount('two people with push again', (count) => count === 2);
  });
});

describe('five soft bounces within 14 days', () => {
  it('suppress the address; four do not, and one message counts once', async () => {
    const { accountId } = account;
    const mail = await readFile(join(MAILS, 'postfix-expired.eml'));
    const address = 'sara@example.ir';
    const bounce = async (path: string) => {
      const url = `${readyStack().ingest_url}${path}`;
      const answer = await post(url, account.writeKey, mail);
      expect([answer.status, answer.body]).toEqual([200, 'ok']);
    };
    const paths: string[] = [];
    for (let at = 0; at < 5; at++) {
      const message = await trackedMessage(database, { accountId, userId: 'bounced', address });
      paths.push(message.bounce);
    }
    const [first = '', ...others] = paths;
    for (const path of [first, first, ...others.slice(0, 3)]) await bounce(path);
    await until('four bounces to be counted', async () => {
      const { rows } = await database.query<{ n: string }>(
        'SELECT count(*) AS n FROM soft_bounces WHERE account_id = $1 AND address = $2',
        [accountId, address],
      );
      return Number(rows[0]?.n) === 4;
    });
    expect(await addressesOf(accountId, 'bounced')).toMatchObject({ addresses: [] });
    await bounce(others[3] ?? '');
    await until('the suppression', async () => address in (await devicesOf('bounced')));
    expect((await addressesOf(accountId, 'bounced')).addresses).toMatchObject([
      { channel: 'email', kind: 'address', id: address, active: false, reason: 'soft_bounces' },
    ]);
  });
});
