import { beforeAll, afterAll, describe, expect, it } from 'vitest';
import { shortLinkCode } from '../../events/short-link.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import type { RenderedContent } from '../providers/provider.ts';
import { shortenLinks } from './shorten-links.ts';
import { storeLinks } from './short-link-store.ts';

let database: MigratedDatabase['database'];
let close: MigratedDatabase['close'];
beforeAll(async () => {
  ({ database, close } = await migratedDatabase(['0001', '0014', '0069']));
  await database.query(
    "INSERT INTO accounts (id, name) SELECT id, 'a' || id FROM generate_series(1, 3) AS id ON CONFLICT DO NOTHING",
  );
});
afterAll(() => close());

const base = 'https://l.ir';
const sms = (text: string): RenderedContent => ({
  ...{ subject: '', title: '', text, html: '', url: '', data: {} },
});
const shorten = async (accountId: number, texts: readonly string[], used = base) =>
  (await shortenLinks({ database, base: used }, accountId, texts.map(sms))).map(({ text }) => text);
const link = (n: number) => `https://shop.example.ir/p?sg_mid=c1.2.${n}0123456789abcdef`;

async function storedTargets(accountId: number): Promise<string[]> {
  const { rows } = await database.query<{ target: string }>(
    'SELECT target FROM short_links WHERE account_id = $1 ORDER BY target',
    [accountId],
  );
  return rows.map(({ target }) => target);
}

describe('links of advertising SMS', () => {
  it('become short ones whose mappings are stored', async () => {
    expect(await shorten(1, [`خرید: ${link(1)} و ${link(2)}.`, 'بدون پیوند'])).toEqual([
      `خرید: ${base}/s/${shortLinkCode(1, link(1))} و ${base}/s/${shortLinkCode(1, link(2))}.`,
      'بدون پیوند',
    ]);
    expect(await storedTargets(1)).toEqual([link(1), link(2)]);
  });

  it('are the same when the message is prepared again', async () => {
    const again = await shorten(1, [link(1)]);
    expect(again).toEqual([`${base}/s/${shortLinkCode(1, link(1))}`]);
    expect(await storedTargets(1)).toEqual([link(1), link(2)]);
  });

  it('stay long without SHORT_LINK_BASE, and when a short one is not shorter', async () => {
    expect(await shorten(2, [link(1)], '')).toEqual([link(1)]);
    expect(await shorten(2, ['https://x.ir/a'])).toEqual(['https://x.ir/a']);
    expect(await storedTargets(2)).toEqual([]);
  });

  it('stay long when their code leads elsewhere, and the stored mapping stays', async () => {
    const code = shortLinkCode(3, link(3));
    await database.query('INSERT INTO short_links (code, account_id, target) VALUES ($1, 1, $2)', [
      ...[code, 'https://other.ir/'],
    ]);
    expect(await shorten(3, [`${link(3)} ${link(4)}`])).toEqual([
      `${link(3)} ${base}/s/${shortLinkCode(3, link(4))}`,
    ]);
    const { rows } = await database.query(
      'SELECT account_id, target FROM short_links WHERE code = $1',
      [code],
    );
    expect(rows).toEqual([expect.objectContaining({ target: 'https://other.ir/' })]);
  });

  it('of many messages are stored in few statements', async () => {
    let statements = 0;
    const counting = {
      query: (text: string, values: unknown[]) => {
        statements++;
        return database.query(text, values);
      },
    } as typeof database;
    const contents = Array.from({ length: 1500 }, (_, at) => sms(link(at)));
    const shortened = await shortenLinks({ database: counting, base }, 2, contents);
    expect(shortened.every(({ text }) => text.startsWith(`${base}/s/`))).toBe(true);
    expect(statements).toBe(2);
    expect(await storedTargets(2)).toHaveLength(1500);
  });

  it('reject when they cannot be stored', async () => {
    const broken = { query: () => Promise.reject(new Error('no connection')) };
    await expect(shortenLinks({ database: broken, base }, 1, [sms(link(9))])).rejects.toThrow(
      'no connection',
    );
  });
});

describe('stored mappings', () => {
  it('of two targets with one code: the first one has it', async () => {
    const links = ['https://a.ir/1', 'https://a.ir/2', 'https://a.ir/1'].map((target) => ({
      ...{ code: 'ABCDEFG', target },
    }));
    expect(await storeLinks(database, 1, links)).toEqual(['created', 'taken', 'created']);
    expect(await storeLinks(database, 1, links)).toEqual(['known', 'taken', 'known']);
    expect(await storeLinks(database, 2, links)).toEqual(['taken', 'taken', 'taken']);
  });
});
