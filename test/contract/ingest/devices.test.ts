import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admin, createAccount, type TestAccount } from '../../support/stack.ts';
import { channelsOnce } from '../../support/channels.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { ask, CORS, specified } from './host.ts';

const database = openPostgres();
const JSON_TYPE = 'application/json; charset=utf-8';
const OK = { status: 'ok', warnings: [] };

let account: TestAccount;
let user: string;
let serial = 0;

beforeAll(async () => {
  account = await createAccount('devices');
});
beforeEach(() => {
  user = `owner ${process.pid} ${serial++}`;
});

const device = (more: object = {}) => ({
  ...{ device_id: `d ${user}`, user_id: user, platform: 'android', push_token: `t ${user}` },
  ...more,
});

async function post(path: string, body: unknown, headers?: Record<string, string>) {
  const key = headers ?? { 'X-Service-Key': account.writeKey };
  const { text, ...answer } = await ask({ path, body, headers: key });
  expect(specified(answer.headers)).toMatchObject({ 'content-type': JSON_TYPE, ...CORS });
  expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
  expect(answer.headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
  return { status: answer.status, body: JSON.parse(text) as unknown };
}
const register = (body: unknown, headers?: Record<string, string>) =>
  post('/v1/devices', body, headers);
const refused = (error: string) => ({ status: 400, body: { error, warnings: [] } });

const devicesOnce = (userId: string, wanted: string[]) =>
  channelsOnce(database, { accountId: account.accountId, userId }, ({ addresses }) => {
    const found = addresses.map(({ id, active, reason }) => `${id}: ${active ? 'active' : reason}`);
    return found.toSorted().join() === wanted.toSorted().join();
  });

describe('POST /v1/devices (ingest 4.2, 7.4)', () => {
  it.each([
    ['android', 'fcm'],
    ['ios', 'apns'],
    ['web', 'fcm'],
    ['huawei', 'hms'],
  ])('registers a device of %s for %s', async (platform, provider) => {
    expect(await register(device({ platform }))).toEqual({ status: 200, body: OK });
    const { addresses } = await devicesOnce(user, [`d ${user}: active`]);
    expect(addresses).toMatchObject([{ channel: 'push', kind: 'device', provider }]);
  });

  it('takes every field, and says what it stored differently', async () => {
    const described = {
      ...{ app_version: '1.0', os_version: '14', model: 'م'.repeat(100), locale: 'fa-IR' },
      ...{ timezone: 'Asia/Tehran', push_provider: 'carrier', anonymous_id: 'a' },
    };
    const warnings = [
      { code: 'truncated', field: 'model' },
      { code: 'unknown_push_provider', field: 'push_provider' },
    ];
    expect(await register(device(described))).toEqual({
      ...{ status: 200, body: { status: 'ok', warnings } },
    });
  });

  it('registers the device of a visitor who has no user id', async () => {
    const body = device({ user_id: undefined, anonymous_id: `visitor ${user}` });
    expect(await register(body)).toEqual({ status: 200, body: OK });
    await devicesOnce(`visitor ${user}`, [`d ${user}: active`]);
  });

  it.each<[object, string]>([
    [{ device_id: undefined }, 'device_id is required'],
    [{ device_id: '' }, 'device_id is required'],
    [{ device_id: 'd'.repeat(257) }, 'device_id is too long: at most 256 bytes'],
    [{ user_id: undefined }, 'user_id or anonymous_id is required'],
    [{ user_id: 'ش'.repeat(129) }, 'user_id is too long: at most 256 bytes'],
    [{ anonymous_id: 'a'.repeat(257) }, 'anonymous_id is too long: at most 256 bytes'],
    [{ platform: undefined }, 'platform must be android, ios, web or huawei'],
    [{ platform: 'symbian' }, 'platform must be android, ios, web or huawei'],
    [{ push_token: undefined }, 'push_token is required'],
    [{ push_token: 't'.repeat(4097) }, 'push_token is too long: at most 4096 bytes'],
  ])('refuses %j with 400 in the shape of the route', async (more, error) => {
    expect(await register(device(more))).toEqual(refused(error));
  });

  it('accepts ids of 256 bytes and a token of 4 KiB', async () => {
    const bounds = { device_id: 'd'.repeat(256), push_token: user.padEnd(4096, 't') };
    expect(await register(device(bounds))).toEqual({ status: 200, body: OK });
  });

  it.each(['{', '[]', '"x"', 'null', '{"device_id":5}', '{"push_token":{}}'])(
    'answers malformed JSON to %s, in the envelope and in the shape of the route',
    async (body) => {
      expect(await register(body)).toEqual({
        status: 400,
        body: {
          ...{ status: 'error', message: 'malformed JSON' },
          ...{ error: 'malformed JSON', warnings: [] },
        },
      });
    },
  );

  it('refuses what comes before the route with the envelope', async () => {
    const envelope = (message: string) => ({ status: 'error', message });
    expect(await register(device(), {})).toEqual({
      ...{ status: 401, body: envelope('missing write key') },
    });
    expect(await register(device(), { 'X-Service-Key': 'nobody' })).toEqual({
      ...{ status: 401, body: envelope('invalid write key') },
    });
    expect(await register('x'.repeat(5_242_881))).toEqual({
      ...{ status: 413, body: envelope('request body too large') },
    });
  });

  it('takes the key from any of its three places', async () => {
    expect((await register(device(), { Authorization: `Bearer ${account.writeKey}` })).status).toBe(
      200,
    );
    const query = `/v1/devices?write_key=${account.writeKey}`;
    expect((await post(query, device(), {})).status).toBe(200);
  });

  it('gives a device to the last user that registered it', async () => {
    await register(device());
    await devicesOnce(user, [`d ${user}: active`]);
    await register(device({ user_id: `${user} next` }));
    await devicesOnce(`${user} next`, [`d ${user}: active`]);
    await devicesOnce(user, []);
  });

  it('takes a token from the device that had it before', async () => {
    await register(device());
    await register(device({ device_id: `other ${user}` }));
    await devicesOnce(user, [`d ${user}: token_moved`, `other ${user}: active`]);
  });

  it('answers OPTIONS with 204 and other methods with 405', async () => {
    const preflight = await ask({ method: 'OPTIONS', path: '/v1/devices' });
    expect([preflight.status, preflight.text]).toEqual([204, '']);
    expect(specified(preflight.headers)).toEqual(CORS);
    const got = await ask({ method: 'GET', path: '/v1/devices' });
    expect([got.status, got.headers.allow]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('POST /v1/devices/unregister (ingest 4.2, 7.4)', () => {
  const unregister = (body: unknown) => post('/v1/devices/unregister', body);

  it('ends the device, and a later registration begins it again', async () => {
    await register(device());
    expect(await unregister({ device_id: `d ${user}` })).toEqual({
      ...{ status: 200, body: { status: 'ok' } },
    });
    await devicesOnce(user, [`d ${user}: unregistered`]);
    await register(device());
    await devicesOnce(user, [`d ${user}: active`]);
  });

  it('answers 200 for a device that nobody registered', async () => {
    expect((await unregister({ device_id: 'nobody' })).status).toBe(200);
  });

  it.each<[unknown, string]>([
    [{}, 'device_id is required'],
    [{ device_id: null }, 'device_id is required'],
    [{ device_id: 'd'.repeat(257) }, 'device_id is too long: at most 256 bytes'],
    ['{', 'malformed JSON'],
    [{ device_id: 5 }, 'malformed JSON'],
  ])('refuses %j', async (body, message) => {
    expect(await unregister(body)).toEqual({ status: 400, body: { status: 'error', message } });
  });
});

describe('./ravand admin addresses (docs/channels.md, Operators)', () => {
  it('prints the addresses of all names of a person', async () => {
    await register(device());
    const visitor = `browser ${user}`;
    const own = { device_id: visitor, push_token: visitor, platform: 'ios' };
    await register(device({ ...own, user_id: undefined, anonymous_id: visitor }));
    const alias = { user_id: user, previous_id: visitor };
    expect((await post('/v1/alias', alias)).status).toBe(200);
    const wanted = [`d ${user}: active`, `${visitor}: active`];
    await devicesOnce(user, wanted);
    await devicesOnce(visitor, wanted);
    const printed = await admin<{ addresses: Record<string, unknown>[]; consents: object }>(
      ...['addresses', '--account', String(account.accountId), '--user-id', user],
    );
    expect(printed.consents).toEqual({});
    expect(
      printed.addresses.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1)),
    ).toEqual(
      [
        { id: visitor, provider: 'apns' },
        { id: `d ${user}`, provider: 'fcm' },
      ].map((facts) => ({
        ...{ channel: 'push', kind: 'device', active: true, reason: '', ...facts },
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      })),
    );
    await admin('alias', 'undo', '--account', String(account.accountId), '--previous-id', visitor);
    await devicesOnce(user, [`d ${user}: active`]);
    await devicesOnce(visitor, [`${visitor}: active`]);
  });
});
