import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { vapidPublicKey } from '../../messaging/providers/webpush/vapid-keys.ts';
import { senderPurpose } from '../../messaging/senders/sender.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { makeSealingKey, parseSealingKeys } from '../../platform/sealing.ts';
import { channelDisable, channelEnable, channelList, channelSet, setSender } from './channel.ts';
import type { AdminCommand } from './command.ts';
import { readSecret } from './sender-secret.ts';

const SEALING_KEY = makeSealingKey('k');
let postgres: MigratedDatabase;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'channel-'));
  postgres = await migratedDatabase(['0001', '0012', '0060']);
  await postgres.database.query("INSERT INTO accounts (id, name) VALUES (1, 'a')");
}, 60_000);
beforeEach(async () => {
  await postgres.database.query('DELETE FROM message_senders');
  await postgres.database.query('DELETE FROM audit_lines');
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await postgres.close();
});

const context = (env: NodeJS.ProcessEnv = { SEALING_KEY }) => ({
  ...{ database: postgres.database as never, kafka: {} as never, env },
});
const run = (command: AdminCommand, values: Record<string, string>, env?: NodeJS.ProcessEnv) =>
  command.run({ values: { account: '1', ...values }, words: [] }, context(env));

function secretFile(text: string): string {
  const path = join(folder, 'secret');
  writeFileSync(path, text);
  return path;
}

const SMS = { channel: 'sms', provider: 'kavenegar', config: '{"sender":"10004346"}' };
const set = (values: Record<string, string> = {}, env?: NodeJS.ProcessEnv) =>
  run(channelSet, { ...SMS, ...values }, env);

/** The sealed secret of a channel, opened. */
async function storedSecret(channel: string): Promise<string | undefined> {
  const { rows } = await postgres.database.query<{ secret: Buffer | null }>(
    'SELECT secret FROM message_senders WHERE channel = $1',
    [channel],
  );
  const sealed = rows[0]?.secret;
  const purpose = senderPurpose({ accountId: 1, channel });
  return sealed ? parseSealingKeys(SEALING_KEY)?.open(Buffer.from(sealed), purpose) : undefined;
}

describe('admin channel set', () => {
  it('stores the sender of a channel and seals its secret, without the line end of the file', async () => {
    const answer = await set({ 'secret-file': secretFile('api-key-1\r\n') });
    expect(answer).toEqual({ channel: 'sms', provider: 'kavenegar', enabled: true });
    expect(await storedSecret('sms')).toBe('api-key-1');
  });

  it('keeps the secret when only the config changes', async () => {
    await set({ 'secret-file': secretFile('api-key-1') });
    await set({ config: '{"sender":"20","max_per_second":5}' });
    expect(await storedSecret('sms')).toBe('api-key-1');
    expect(await run(channelList, {})).toEqual({
      channels: [
        {
          ...{ channel: 'sms', provider: 'kavenegar', enabled: true, broken: null },
          config: { sender: '20', max_per_second: 5 },
        },
      ],
    });
  });

  it('makes the keys of web push once, and answers what browsers subscribe with', async () => {
    const web = { channel: 'web', provider: 'webpush' };
    const config = '{"subject":"mailto:a@example.com"}';
    const first = await set({ ...web, config });
    const secret = await storedSecret('web');
    expect(first).toEqual({
      ...{ ...web, enabled: true, public_key: vapidPublicKey(secret ?? '') },
    });
    const second = await set({ ...web, config: '{"subject":"mailto:b@example.com"}' });
    expect(second['public_key']).toBe(first['public_key']);
    expect(await storedSecret('web')).toBe(secret);
  });

  it('shows the secret nowhere: not in answers, audit lines or the config', async () => {
    await set({ 'secret-file': secretFile('hidden-secret') });
    const { rows } = await postgres.database.query<{ text: string }>(
      `SELECT string_agg(details::text, '') || (SELECT string_agg(config::text, '') FROM message_senders) AS text FROM audit_lines`,
    );
    expect(rows[0]?.text).toContain('kavenegar');
    expect(`${rows[0]?.text ?? ''}${JSON.stringify(await run(channelList, {}))}`).not.toContain(
      'hidden-secret',
    );
    const refused = await set({ config: '{"sender":"1","key":"hidden-secret"' }).catch(String);
    expect(refused).toContain('--config is not JSON');
    expect(refused).not.toContain('hidden-secret');
  });

  test.each<[Record<string, string>, string]>([
    [{ channel: 'fax' }, 'there is no channel fax'],
    [{ provider: 'pigeon' }, 'there is no provider pigeon'],
    [{ channel: 'email' }, 'kavenegar does not send on the channel email'],
    [{ config: '[]' }, 'the config is not a JSON object'],
    [{ config: '{"sender":5}' }, 'sender'],
    [{ config: '{"sender":"1","url":"http://127.0.0.1:9000"}' }, 'a loopback address'],
    [{ config: '{"sender":"1","url":"http://169.254.169.254"}' }, 'a cloud metadata address'],
    [{ config: '{"sender":"1","max_per_second":0}' }, 'max_per_second is not a number above 0'],
    [{ account: '2' }, 'there is no account 2'],
  ])('refuses %o: %s', async (values, message) => {
    await expect(set({ 'secret-file': secretFile('x'), ...values })).rejects.toThrow(message);
    expect(await run(channelList, {})).toEqual({ channels: [] });
  });

  it('refuses a sender without a secret, and a secret without SEALING_KEY', async () => {
    await expect(set()).rejects.toThrow('kavenegar needs a secret');
    const file = { 'secret-file': secretFile('x') };
    await expect(set(file, {})).rejects.toThrow('SEALING_KEY is empty');
    await expect(set({ 'secret-file': join(folder, 'none') })).rejects.toThrow('cannot be read');
  });

  it('accepts an address that the operator allows', async () => {
    const sender = { accountId: 1, channel: 'sms', provider: 'kavenegar', secret: 'x' };
    const config = { sender: '1', url: 'http://127.0.0.1:9000' };
    const env = { SEALING_KEY, OUTBOUND_ALLOW_HOSTS: '127.0.0.1:9000' };
    expect(await setSender({ ...sender, config }, context(env))).toMatchObject({ enabled: true });
  });
});

describe('a channel', () => {
  it('has FCM and APNs side by side, and one of them can be disabled', async () => {
    const push = { channel: 'push', 'secret-file': secretFile('a key') };
    const apns = '{"team_id":"TEAM","key_id":"KEY","topic":"ir.shop"}';
    await set({ ...push, provider: 'fcm', config: '{"project_id":"p"}' });
    await set({ ...push, provider: 'apns', config: apns });
    expect(await run(channelDisable, { channel: 'push', provider: 'fcm' })).toEqual({
      ...{ channel: 'push', provider: 'fcm', enabled: false },
    });
    expect(await run(channelList, {})).toMatchObject({
      channels: [
        { channel: 'push', provider: 'apns', enabled: true },
        { channel: 'push', provider: 'fcm', enabled: false },
      ],
    });
    expect(await run(channelEnable, { channel: 'push' })).toEqual({
      ...{ channel: 'push', provider: 'apns, fcm', enabled: true },
    });
    await expect(run(channelDisable, { channel: 'push', provider: 'hms' })).rejects.toThrow(
      'the account 1 has no provider hms on the channel push',
    );
  });

  it('is disabled and enabled', async () => {
    await set({ 'secret-file': secretFile('x') });
    const off = await run(channelDisable, { channel: 'sms' });
    expect(off).toEqual({ channel: 'sms', provider: 'kavenegar', enabled: false });
    expect(await run(channelEnable, { channel: 'sms' })).toMatchObject({ enabled: true });
    await expect(run(channelDisable, { channel: 'email' })).rejects.toThrow(
      'the account 1 has no channel email',
    );
  });
});

describe('a secret', () => {
  it('comes from standard input within a bound, and is never empty', async () => {
    const input = (text: string) => Readable.from([Buffer.from(text)]);
    expect(await readSecret('-', input('{"a":1}\n'))).toBe('{"a":1}');
    expect(await readSecret(undefined, input('x'))).toBeUndefined();
    await expect(readSecret('-', input('\n'))).rejects.toThrow('the secret is empty');
    const large = 'x'.repeat(65_537);
    await expect(readSecret('-', input(large))).rejects.toThrow('longer than 65536 bytes');
    await expect(readSecret(secretFile(large), input(''))).rejects.toThrow('longer than 65536');
    expect(await readSecret(secretFile(large.slice(1)), input(''))).toHaveLength(65_536);
  });
});
