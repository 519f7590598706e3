import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isWord, propertyWord } from '../../../events/property-words.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import { nativeBlock } from '../../../projections/events/native/block.ts';
import { rowAt } from '../../../projections/events/testing/row-records.ts';
import { NEWEST_ROW_VERSION, rowVersion } from '../../../schemas/row-versions.ts';
import { openTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const ddl = (names: readonly string[]) => names.map((name) => `projections/events/ddl/${name}.sql`);

let database: TestDatabase;
beforeAll(async () => {
  database = await openTestDatabase('property_words', {
    ddl: ddl(['0001_events', '0021_trace']),
    tables: [],
  });
});
afterAll(() => database.close());

/** Values of all kinds, and names with the separator in them. */
const PROPERTIES: readonly Record<string, string>[] = [
  {},
  { plan: 'free', city: 'تهران', empty: '', at: '12', mixed: 'a1', sent: 'true' },
  { plan: 'ش'.repeat(12), other: `${'ش'.repeat(12)}x`, 'a=b': 'c', a: 'b=c' },
  { a: 'b', 'a=b': 'b', bytes: '\0\n\t\'"\\', persian: '۲', emoji: '😀'.repeat(6) },
  { emoji: '😀'.repeat(7), same: 'x', again: 'x', long: 'x'.repeat(25), most: 'x'.repeat(24) },
];
const wordsOf = (properties: Record<string, string>): string[] =>
  Object.entries(properties)
    .filter(([, value]) => isWord(value))
    .map(([name, value]) => propertyWord(name, value));

/** Inserts a row of each, as events-sink writes them. */
async function insert(first: number, { words }: { words: boolean }): Promise<void> {
  const [timestamp, received_at] = [Date.now(), Date.now()];
  const rows = PROPERTIES.map((properties, at) =>
    rowAt(first + at, { properties, timestamp, received_at }),
  );
  const block = nativeBlock({
    version: NEWEST_ROW_VERSION,
    count: rows.length,
    datums: rows.map((row) => rowVersion(NEWEST_ROW_VERSION).type.toBuffer(row)),
  });
  expect(block.columns.includes('_property_words')).toBe(true);
  if (words) {
    await database.client.exec({
      query: `INSERT INTO events (${block.columns.join(', ')}) FORMAT Native`,
      values: Readable.from(block.parts, { objectMode: false }),
    });
    return;
  }
  await database.insert(
    'events',
    rows.map(({ _offset, properties }) => ({
      ...{ _offset, properties },
      ...{
        timestamp: new Date(timestamp).toISOString(),
        received_at: new Date(received_at).toISOString(),
      },
    })),
  );
}

const stored = () =>
  readRows<{ properties: Record<string, string>; words: string[] }>({
    ...{ client: database.client, params: {}, signal: AbortSignal.timeout(60_000) },
    sql: 'SELECT properties, _property_words AS words FROM events ORDER BY _offset',
  });

it('words of a release before, of a block and of other inserts are the same', async () => {
  await insert(0, { words: false });
  await database.migrate(ddl(['0096_property_words']));
  await insert(10, { words: true });
  await insert(20, { words: false });
  const expected = [0, 1, 2].flatMap(() =>
    PROPERTIES.map((properties) => ({ properties, words: wordsOf(properties) })),
  );
  expect(await stored()).toEqual(expected);
  await database.client.command({ query: 'OPTIMIZE TABLE events FINAL' });
  expect(await stored()).toEqual(expected);
});
