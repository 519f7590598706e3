import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import { ErasureStore } from './erasure-store.ts';
import { parseEraseLine } from './request.ts';
import { erasuresToVerify } from './to-verify.ts';

let postgres: BooksDatabase;
let store: ErasureStore;
beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
  store = new ErasureStore(postgres.database);
}, 120_000);
afterAll(() => postgres.close());

const ids = async (...args: string[]) =>
  (
    await erasuresToVerify(
      { database: postgres.database, store },
      parseEraseLine(['verify', ...args]),
    )
  ).map(({ id }) => id);

describe('erase verify', () => {
  it('without a number is about every erasure whose names are stored, or about one person', async () => {
    expect(await ids()).toEqual([]);
    const sara = await store.request(7, ['sara', 'a\0b']);
    const omid = await store.request(7, ['omid']);
    await postgres.database.query(
      "UPDATE erasures SET names = NULL, state = 'rewritten' WHERE id = $1",
      [sara],
    );
    expect(await ids()).toEqual([omid]);
    expect(await ids('--account', '7', '--user-id', 'sara', '--anonymous-id', 'a\0b')).toEqual([
      sara,
    ]);
    const again = await store.request(7, ['sara']);
    expect(await ids('--account', '7', '--user-id', 'sara')).toEqual([again]);
    expect(await ids(String(sara))).toEqual([sara]);
  });

  it('refuses a person of another account, and an unknown number', async () => {
    await expect(ids('--account', '8', '--user-id', 'sara')).rejects.toThrow('no erasure of this');
    await expect(ids('--account', '7')).rejects.toThrow('--user-id');
    await expect(ids('--user-id', 'sara')).rejects.toThrow('--account');
    await expect(ids('99')).rejects.toThrow('there is no erasure 99');
    await expect(ids('x')).rejects.toThrow('expected an id');
  });
});
