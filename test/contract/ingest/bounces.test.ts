import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAccount, type TestAccount } from '../../support/stack.ts';
import { channelsOnce, trackedMessage } from '../../support/channels.ts';
import { openPostgres } from '../../support/stack-clients.ts';
import { ask } from './host.ts';

const database = openPostgres();
const FIXTURES = join(import.meta.dirname, '../../../events/channels/bounce/testing');
const MIB = 1_048_576;

let account: TestAccount;
let user: string;
let serial = 0;

beforeAll(async () => {
  account = await createAccount('bounces');
});
beforeEach(() => {
  user = `reader ${process.pid} ${serial++}`;
});

const mail = (name: string) => readFileSync(join(FIXTURES, `${name}.eml`));

const messageTo = async (address: string) =>
  (await trackedMessage(database, { accountId: account.accountId, userId: user, address })).bounce;

async function post(path: string, body: string | Buffer, headers: Record<string, string> = {}) {
  const answer = await ask({ path, body, headers });
  expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
  expect(answer.headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
  return [answer.status, answer.text] as const;
}

const suppressedOnce = (wanted: string[]) =>
  channelsOnce(database, { accountId: account.accountId, userId: user }, ({ addresses }) => {
    const found = addresses.map(({ kind, id, reason }) => `${kind} ${id}: ${reason}`);
    return found.toSorted().join() === wanted.toSorted().join();
  });

describe('POST /v1/bounce/{local} (ingest 4.2, 7.1, 7.4, 8; docs/channels.md, Bounces)', () => {
  it.each([
    ['postfix-unknown-user', 'sara@example.ir', 'hard_bounce 5.1.1'],
    ['qmail', 'sara@example.ir', 'hard_bounce 5.1.1'],
    ['sendmail-text', 'sara@example.ir', 'hard_bounce no_status'],
    ['office365', 'sara@example.ir', 'hard_bounce 5.1.10'],
    ['gmail', 'sara@gmail.example', 'hard_bounce 5.1.1'],
    ['yahoo', 'sara@yahoo.example', 'hard_bounce no_status'],
    ['domino', 'sara@corp.example', 'hard_bounce 5.1.1'],
    ['icloud', 'sara@me.example', 'hard_bounce 5.1.1'],
    ['arf-abuse', 'sara@yahoo.example', 'complaint abuse'],
    ['hotmail-complaint', 'sara@hotmail.example', 'complaint abuse'],
  ])('suppresses the address after a mail like %s', async (name, address, reason) => {
    expect(await post(await messageTo(address), mail(name))).toEqual([200, 'ok']);
    const { addresses } = await suppressedOnce([`address ${address}: ${reason}`]);
    expect(addresses).toMatchObject([{ channel: 'email', active: false }]);
  });

  it('suppresses nothing for one soft bounce, an automatic reply, a delay or feedback that is no spam', async () => {
    const local = await messageTo('sara@example.ir');
    for (const name of [
      ...['postfix-expired', 'postfix-delayed', 'absence-outlook', 'absence-persian'],
      ...['arf-not-spam', 'delivered', 'read-receipt'],
    ])
      expect([name, ...(await post(local, mail(name)))]).toEqual([name, 200, 'ok']);
    const other = `${user} other`;
    const { bounce } = await trackedMessage(database, {
      ...{ accountId: account.accountId, userId: other, address: 'sara@example.ir' },
    });
    await post(bounce, mail('postfix-unknown-user'));
    // What was sent before is applied when this is: it is suppressed for a later mail only.
    const found = await channelsOnce(
      database,
      { accountId: account.accountId, userId: other },
      ({ addresses }) => addresses.length === 1,
    );
    expect(found.addresses[0]?.reason).toBe('hard_bounce 5.1.1');
    await suppressedOnce([]);
  });

  it('suppresses an address after soft bounces of five messages, each counted once', async () => {
    const address = `${process.pid}-soft@example.ir`;
    const body = mail('postfix-expired').toString().replaceAll('sara@example.ir', address);
    const locals = await Promise.all(Array.from({ length: 5 }, () => messageTo(address)));
    for (const local of [...locals.slice(0, 4), ...locals.slice(0, 4)])
      expect(await post(local, body)).toEqual([200, 'ok']);
    expect(await post(locals[4] ?? '', body)).toEqual([200, 'ok']);
    await suppressedOnce([`address ${address}: soft_bounces`]);
  });

  it('finds a local part in either case, and reads gzip', async () => {
    const path = await messageTo('sara@example.ir');
    const upper = path.replace(/[^/]+$/, (local) => local.toUpperCase());
    const body = gzipSync(mail('postfix-unknown-user'));
    expect(await post(upper, body, { 'Content-Encoding': 'gzip' })).toEqual([200, 'ok']);
    await suppressedOnce(['address sara@example.ir: hard_bounce 5.1.1']);
  });

  it('is 413 above 1 MiB, then 404 for an unknown local part, then 400 for what is no mail', async () => {
    const path = await messageTo('sara@example.ir');
    const large = Buffer.alloc(MIB + 1, 'x');
    const tooLarge = [413, 'request body too large\n'];
    expect(await post(path, large)).toEqual(tooLarge);
    expect(await post('/v1/bounce/unknown', large)).toEqual(tooLarge);
    expect(await post(path, gzipSync(large), { 'Content-Encoding': 'gzip' })).toEqual(tooLarge);
    expect(await post('/v1/bounce/unknown', '\0')).toEqual([404, 'not found\n']);
    expect(await post(path, '\0')).toEqual([400, 'unreadable body\n']);
    expect(await post(path, '')).toEqual([400, 'unreadable body\n']);
    expect(await post(path, 'x', { 'Content-Encoding': 'br' })).toEqual([400, 'unreadable body\n']);
  });

  it('accepts a mail of exactly 1 MiB', async () => {
    const head = mail('absence-outlook');
    const body = Buffer.concat([head, Buffer.alloc(MIB - head.length, 'x')]);
    expect(await post(await messageTo('sara@example.ir'), body)).toEqual([200, 'ok']);
  });

  it('has the methods of a route under /v1/', async () => {
    const path = await messageTo('sara@example.ir');
    const preflight = await ask({ method: 'OPTIONS', path });
    expect([preflight.status, preflight.text]).toEqual([204, '']);
    const got = await ask({ method: 'GET', path });
    expect([got.status, JSON.parse(got.text)]).toEqual([
      405,
      { status: 'error', message: 'method not allowed' },
    ]);
  });
});
