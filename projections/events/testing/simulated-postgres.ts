import type { Database } from '../../../platform/postgres/pool.ts';
import type { Choices } from './choices.ts';

type Values = readonly (string | number)[];

/**
 * The row of one partition in sink_ranges, for the three statements of ownership.ts. Requests and
 * responses get lost.
 */
export function simulatedPostgres(choices: Choices): Database {
  let owner = 0;
  let range: (string | number | null)[] = [null, null, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1];
  const execute = (sql: string, values: Values) => {
    if (sql.startsWith('INSERT INTO sink_ranges')) {
      owner++;
      const [first, last, ...positions] = range;
      const columns = [
        'before_epoch',
        'before_offset',
        'before_index',
        'end_epoch',
        'end_offset',
        'end_index',
        'log_epoch',
        'unsure_epoch',
        'unsure_offset',
        'unsure_index',
      ];
      return {
        rowCount: 1,
        rows: [
          {
            owner_epoch: owner,
            first_offset: first,
            last_offset: last,
            ...Object.fromEntries(columns.map((column, at) => [column, positions[at]])),
          },
        ],
      };
    }
    if (sql.startsWith('SELECT partition, epoch')) return { rowCount: 0, rows: [] };
    const isOwner = values[3] === owner;
    if (isOwner && sql.startsWith('UPDATE sink_ranges')) range = values.slice(4);
    return { rowCount: isOwner ? 1 : 0, rows: [] };
  };
  const query = (sql: string, values: Values) => {
    if (choices.chance(10)) return Promise.reject(new Error('PostgreSQL is unavailable'));
    const answer = execute(sql.trim(), values);
    if (choices.chance(10)) return Promise.reject(new Error('the response of PostgreSQL was lost'));
    return Promise.resolve(answer);
  };
  return { query } as unknown as Database;
}
