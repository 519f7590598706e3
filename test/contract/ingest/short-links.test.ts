import { beforeAll, describe, expect, it } from 'vitest';
import { shortLinkCode } from '../../../events/short-link.ts';
import { admin, eventually, ravand } from '../../support/stack.ts';
import { bareAccount, withDatabase } from '../../support/webhooks/connection.ts';
import { ask } from './host.ts';

const TARGET = 'https://shop.example.ir/collections/spring?utm_source=sms';
let accountId: number;

interface Created {
  code: string;
  target: string;
  created: boolean;
}

const create = (target: string, account = accountId) =>
  admin<Created>('link', 'create', '--account', String(account), '--target', target);
const visit = (code: string, method = 'GET') => ask({ method, path: `/s/${code}` });

async function clicksOf(
  code: string,
): Promise<{ clicks: number; last_click_at: Date | null; target: string } | undefined> {
  const { rows } = await withDatabase((database) =>
    database.query<{ clicks: number; last_click_at: Date | null; target: string }>(
      'SELECT clicks::int, last_click_at, target FROM short_links WHERE code = $1',
      [code],
    ),
  );
  return rows[0];
}

beforeAll(async () => {
  accountId = await bareAccount();
});

describe('GET /s/{code} (ingest 4.7)', () => {
  it('redirects to the stored target with 302 and counts the click after the answer', async () => {
    const { code, created } = await create(TARGET);
    expect([code, created]).toEqual([shortLinkCode(accountId, TARGET), true]);
    const began = Date.now();
    for (let time = 0; time < 3; time++) {
      const { status, headers, text } = await visit(code);
      expect([status, headers.location, text]).toEqual([302, TARGET, '']);
      expect(headers['x-service-trace']).toMatch(/^[0-9a-f]{16}$/);
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
    const link = await eventually(
      { ms: 15_000, every: 50, waitingFor: 'three clicks' },
      async () => {
        const found = await clicksOf(code);
        return found?.clicks === 3 ? found : undefined;
      },
    );
    expect(link.last_click_at?.getTime()).toBeGreaterThanOrEqual(began - 1000);
  });

  it('accepts a code in lower case and does not count HEAD as a click', async () => {
    const { code } = await create(`${TARGET}&case=1`);
    expect((await visit(code, 'HEAD')).headers.location).toBe(`${TARGET}&case=1`);
    expect((await visit(code.toLowerCase())).status).toBe(302);
    const link = await eventually({ ms: 15_000, every: 50, waitingFor: 'a click' }, async () => {
      const found = await clicksOf(code);
      return (found?.clicks ?? 0) > 0 ? found : undefined;
    });
    expect(link.clicks).toBe(1);
  });

  it('escapes a Persian target in the Location header', async () => {
    const { code } = await create('https://shop.example.ir/کفش');
    expect((await visit(code)).headers.location).toBe('https://shop.example.ir/%DA%A9%D9%81%D8%B4');
  });

  it.each(['ZZZZZZZ', 'short', 'toolongcode', 'ILOUILO', '..%2f..%2f', '%D8', '%00'])(
    'answers %s with a plain 404',
    async (code) => {
      const { status, headers, text } = await visit(code);
      expect([status, headers['content-type'], text]).toEqual([
        404,
        'text/plain; charset=utf-8',
        'not found\n',
      ]);
    },
  );

  it('answers other methods 404', async () =>
    expect((await ask({ method: 'POST', path: '/s/ZZZZZZZ', body: '' })).status).toBe(404));
});

describe('stored mappings (ingest 4.7)', () => {
  it('have one code for each account and target', async () => {
    const first = await create(`${TARGET}&same=1`);
    expect(await create(`${TARGET}&same=1`)).toEqual({ ...first, created: false });
    expect((await create(`${TARGET}&same=1`, await bareAccount())).code).not.toBe(first.code);
  });

  it('are never overwritten: a collision is an error that says what to do', async () => {
    const target = `${TARGET}&collides=1`;
    const code = shortLinkCode(accountId, target);
    await withDatabase((database) =>
      database.query('INSERT INTO short_links (code, account_id, target) VALUES ($1, $2, $3)', [
        code,
        accountId,
        'https://elsewhere.example.ir/',
      ]),
    );
    await expect(create(target)).rejects.toMatchObject({
      stderr: expect.stringContaining('never changes: add something') as string,
    });
    expect((await visit(code)).headers.location).toBe('https://elsewhere.example.ir/');
    expect(await clicksOf(code)).toMatchObject({ target: 'https://elsewhere.example.ir/' });
  });

  it.each(['ftp://x.ir', 'javascript:alert(1)', 'https://x.ir/a b', '/path'])(
    'cannot have the target %s',
    async (target) => {
      await expect(
        ravand('admin', 'link', 'create', '--account', String(accountId), '--target', target),
      ).rejects.toMatchObject({
        stderr: expect.stringContaining(
          '--target: expected an http:// or https:// address',
        ) as string,
      });
    },
  );
});
