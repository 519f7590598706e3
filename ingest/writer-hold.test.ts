import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLog } from '../platform/log.ts';
import type { Database } from '../platform/postgres/pool.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../platform/postgres/testing/migrated-database.ts';
import { writerHold } from './writer-hold.ts';

let postgres: MigratedDatabase;

beforeAll(async () => {
  postgres = await migratedDatabase(['0024', '0025', '0029', '0045']);
  await postgres.database.query(
    `INSERT INTO log_layout (partitions, created, phase) VALUES (4, 4, 'holding')`,
  );
}, 60_000);
afterAll(() => postgres.close());

it('a process that starts while records are held publishes nothing before it knows that', async () => {
  const reached = Promise.withResolvers<undefined>();
  const database = {
    query: async (text: string, values?: unknown[]) => {
      await reached.promise;
      return postgres.database.query(text, values);
    },
  } as unknown as Database;
  const log = createLog({ part: 'test', level: 'silent' });
  const hold = writerHold({ database, log, service: 'test' });
  let published = 0;
  const publish = () => hold.run(() => Promise.resolve(published++));
  try {
    await expect(publish()).rejects.toThrow('not known yet');
    const partitions = hold.partitions();
    reached.resolve(undefined);
    await expect(partitions).rejects.toThrow('the layout of the log changes');
    await expect(publish()).rejects.toThrow('the layout of the log changes');
    await postgres.database.query(`UPDATE log_layout SET phase = 'steady'`);
    expect(await hold.partitions()).toBe(4);
    await publish();
    expect(published).toBe(1);
  } finally {
    await hold.close();
  }
}, 60_000);
