import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { Ravand } from '../../../sdk/node/src/ravand.ts';
import { RavandMessages } from '../../../sdk/node/src/messages.ts';
import { BotReceiver } from '../../support/messages/bot-receiver.ts';
import { MessageAccount } from '../../support/messages/message-account.ts';
import { MessageHost } from '../../support/messages/message-host.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { createAccount, eventually, readyStack, rows } from '../../support/stack.ts';

const run = promisify(execFile);
const SCHEMA = join(import.meta.dirname, '../../../sdk/node/src/schema/main.ts');
const folder = mkdtempSync(join(tmpdir(), 'ravand-hosts-'));
const client = openClickhouse();
afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true });
});

it('the ingest host serves the SDK of this checkout, and the files that it loads never change', async () => {
  const { ingest_url } = readyStack();
  const core = await fetch(`${ingest_url}/sdk/v1.js`);
  expect(core.headers.get('cache-control')).toContain('max-age=300');
  const [, release = ''] = /\.([0-9a-f]{10})\.js/.exec(await core.text()) ?? [];
  for (const name of ['onsite', 'inbox', 'web-push']) {
    const answer = await fetch(`${ingest_url}/sdk/${name}.${release}.js`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('cache-control')).toContain('immutable');
    expect(await answer.text()).toContain('open');
  }
  expect((await fetch(`${ingest_url}/sdk/worker.js`)).status).toBe(200);
});

it('ravand-schema declares the events of the account', async () => {
  const { ingest_url: host, base_url } = readyStack();
  const account = await createAccount('tracking plan');
  const ravand = new Ravand({ writeKey: account.writeKey, host });
  ravand.track({ userId: 'u', event: 'order_completed', properties: { order_id: 1, total: 5 } });
  ravand.identify({ userId: 'u', traits: { city: 'تهران' } });
  expect(await ravand.close()).toEqual({ sent: 2, pending: 0 });
  // The management host keeps its answers for a minute.
  await eventually({ ms: 60_000, every: 500, waitingFor: 'the events' }, async () => {
    const [{ count } = { count: 0 }] = await rows<{ count: number }>(
      client,
      'SELECT sum(count) AS count FROM event_catalogue FINAL WHERE account_id = {id:UInt64}',
      { id: account.accountId },
    );
    return count === 2 ? true : undefined;
  });
  const out = join(folder, 'events.d.ts');
  const env = { ...process.env, RAVAND_MANAGEMENT_KEY: account.managementKey };
  await run(process.execPath, [SCHEMA, '--host', base_url, '--out', out], { env });
  const declared = readFileSync(out, 'utf8');
  expect(declared).toContain('"order_id"?: unknown;');
  expect(declared).toContain('"total"?: unknown;');
  expect(declared).not.toContain('identify');
});

it('RavandMessages sends one message for a key, also when the host dies meanwhile', async () => {
  const database = openPostgres();
  const receiver = await BotReceiver.listen();
  const host = await MessageHost.start(receiver);
  const owner = await MessageAccount.create(database, 'messages of the SDK');
  await owner.sender('bale', 'bale', { config: { url: receiver.url }, secret: 'bot-token' });
  await owner.chats('bale', ['sara']);
  const templateId = await owner.template('bale', { text: 'کد شما {{ vars.code }}' });
  const messages = new RavandMessages({
    managementKey: owner.account.managementKey,
    host: host.url,
  });
  const message = { userId: 'sara', templateId, channel: 'bale', vars: { code: '4711' } };
  const first = await messages.send({ ...message, idempotencyKey: 'order-81:paid' });
  expect(first).toMatchObject({ status: 'sent', channel: 'bale', replayed: false });
  // The next try finds no host, and the one after it a new one.
  const [again] = await Promise.all([
    messages.send({ ...message, idempotencyKey: 'order-81:paid' }),
    host.killAndStart(),
  ]);
  expect(again).toEqual({ ...first, replayed: true });
  expect(receiver.calls.map(({ text }) => text)).toEqual(['کد شما 4711']);
  await expect(
    messages.send({ ...message, channel: 'pigeon', idempotencyKey: 'order-82:paid' }),
  ).rejects.toMatchObject({ code: 'refused', status: 400 });
  expect(
    await messages.send({ ...message, templateId: 999_999, idempotencyKey: 'order-83:paid' }),
  ).toMatchObject({ status: 'skipped', reason: 'unknown_template' });
  await Promise.all([host.close(), database.end()]);
  receiver.close();
});
