import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  openBooksDatabase,
  type BooksDatabase,
} from '../../pipeline/metering/testing/books-database.ts';
import {
  readAdvances,
  readEvidence,
  writeEvidence,
  type TopicPartition,
} from '../../platform/log/evidence-store.ts';

const OF = { topic: 't', partition: 0 };

let postgres: BooksDatabase;

beforeAll(async () => {
  postgres = await openBooksDatabase();
  await postgres.migrate('0001', '9999');
}, 120_000);
afterAll(() => postgres.close());
beforeEach(() => postgres.database.query('TRUNCATE log_epochs, log_evidence, log_advances'));

const read = (reader: string, next: number, of: TopicPartition & { epoch?: number } = OF) =>
  writeEvidence(postgres.database, reader, [{ ...of, next, appendedAt: 1, checksum: 2 }]);

async function beginEpoch(epoch: number, firstOffset: number, reason = 'the log went back') {
  await postgres.database.query(
    `INSERT INTO log_epochs (topic, partition, epoch, first_offset, reason)
       VALUES ($1, $2, $3, $4, $5)`,
    [OF.topic, OF.partition, epoch, firstOffset, reason],
  );
  await untilLater();
}

// The clock of this PostgreSQL ticks once a millisecond; evidence of the same tick does not count.
async function untilLater(): Promise<void> {
  const isLater = 'SELECT clock_timestamp() > max(created_at) AS later FROM log_epochs';
  for (;;) {
    const { rows } = await postgres.database.query<{ later: boolean }>(isLater);
    if (rows[0]?.later) return;
  }
}

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

it('evidence counts beside an epoch that replaced nothing', async () => {
  await read('a', 5);
  await beginEpoch(1, 4, 'growth to 8 partitions');
  await read('b', 7, { ...OF, epoch: 0 });
  expect(await known()).toEqual(['a 5', 'b 7']);
});

it('a process that was cut off while an epoch began writes nothing about replaced records', async () => {
  await beginEpoch(2, 5);
  await read('late', 5, { ...OF, epoch: 1 });
  await read('late', 9, { ...OF, epoch: 1 });
  expect(await known()).toEqual(['late 5']);
  const { epoch, isUnfinished } = await readAdvances(postgres.database);
  expect([epoch, isUnfinished]).toEqual([2, false]);
  await read('late', 9, { ...OF, epoch });
  expect(await known()).toEqual(['late 9']);
});

it('a plan that was begun is unfinished', async () => {
  await postgres.database.query("INSERT INTO log_advances (plan) VALUES ('{}')");
  expect(await readAdvances(postgres.database)).toEqual({ epoch: 0, isUnfinished: true });
});
