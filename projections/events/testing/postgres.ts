import type { Database } from '../../../platform/postgres/pool.ts';
import type { Choices } from './choices.ts';

type Values = readonly (string | number)[];

/**
 * The row of sink_ranges of one partition: the three statements of ranges.ts, with answers that get
 * lost.
 */
export function simulatedPostgres(choices: Choices): Database {
  let owner = 0;
  let range: (string | number | null)[] = [null, null, -1, -1, -1, -1, -1, -1];
  const run = (sql: string, values: Values) => {
    if (sql.startsWith('INSERT INTO sink_ranges')) {
      owner++;
      const [first, last, ...marks] = range;
      const names = [
        'before_epoch',
        'before_offset',
        'before_index',
        'end_epoch',
        'end_offset',
        'end_index',
      ];
      return {
        rowCount: 1,
        rows: [
          {
            owner_epoch: owner,
            first_offset: first,
            last_offset: last,
            ...Object.fromEntries(names.map((name, at) => [name, marks[at]])),
          },
        ],
      };
    }
    const mine = values[3] === owner;
    if (mine && sql.startsWith('UPDATE sink_ranges')) range = values.slice(4);
    return { rowCount: mine ? 1 : 0, rows: [] };
  };
  const query = (sql: string, values: Values) => {
    if (choices.chance(10)) return Promise.reject(new Error('PostgreSQL is away'));
    const answer = run(sql.trim(), values);
    if (choices.chance(10)) return Promise.reject(new Error('the answer of PostgreSQL was lost'));
    return Promise.resolve(answer);
  };
  return { query } as unknown as Database;
}
