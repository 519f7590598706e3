import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import { readEvidence, writeEvidence } from '../../platform/log/evidence-store.ts';

const OF = { topic: 't', partition: 0 };

let postgres: BooksDatabase;

beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
}, 120_000);
afterAll(() => postgres.close());
beforeEach(() => postgres.database.query('TRUNCATE log_epochs, log_evidence'));

const read = (reader: string, next: number, of = OF) =>
  writeEvidence(postgres.database, reader, [{ ...of, next, appendedAt: 1, checksum: 2 }]);

const beginEpoch = (epoch: number, firstOffset: number) =>
  postgres.database.query(
    `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason)
       VALUES ($1, $2, $3, $4, 'the log went back')`,
    [OF.topic, OF.partition, epoch, firstOffset],
  );

async function known(): Promise<string[]> {
  const found = await readEvidence(postgres.database, [OF]);
  return found.map(({ reader, next }) => `${reader} ${next}`).sort();
}

it('evidence of every reader of the partition is read, and of no other partition', async () => {
  await read('a', 5);
  await read('b', 9);
  await read('a', 7, { topic: 't', partition: 1 });
  await read('a', 7, { topic: 'u', partition: 0 });
  expect(await known()).toEqual(['a 5', 'b 9']);
  expect(await readEvidence(postgres.database)).toHaveLength(4);
});

it('evidence about records that an epoch has replaced does not count', async () => {
  await read('a', 5);
  await read('b', 9);
  await beginEpoch(1, 5);
  expect(await known()).toEqual(['a 5']);
  await read('c', 7);
  expect(await known()).toEqual(['a 5', 'c 7']);
});
