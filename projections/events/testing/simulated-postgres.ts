import type { Database } from '../../../platform/postgres/pool.ts';
import type { Choices } from './choices.ts';

type Values = readonly (string | number)[];
type Range = readonly (string | number | null)[];

const FIRST = 0;
const LOG_EPOCH = 8;

function isBefore(a: Range, b: Range): boolean {
  const epochs = Number(a[LOG_EPOCH]) - Number(b[LOG_EPOCH]);
  return epochs < 0 || (epochs === 0 && Number(a[FIRST] ?? -1) < Number(b[FIRST] ?? -1));
}

/**
 * The row of one partition in sink_ranges, for the three statements of ownership.ts. Requests and
 * responses get lost, and requests that timed out are executed later.
 */
export function simulatedPostgres(choices: Choices): Database {
  let owner = 0;
  let range: Range = [null, null, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1];
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
    if (values[3] !== owner) return { rowCount: 0, rows: [] };
    if (sql.startsWith('UPDATE sink_ranges')) {
      const recorded = values.slice(4);
      if (isBefore(recorded, range)) return { rowCount: 0, rows: [] };
      range = recorded;
    }
    return { rowCount: 1, rows: [] };
  };
  let late: { sql: string; values: Values }[] = [];
  const query = (sql: string, values: Values) => {
    if (late.length > 0 && choices.chance(20)) {
      for (const one of late) execute(one.sql, one.values);
      late = [];
    }
    if (choices.chance(5)) {
      if (sql.startsWith('UPDATE')) late.push({ sql, values });
      return Promise.reject(new Error('PostgreSQL did not answer in time'));
    }
    if (choices.chance(10)) return Promise.reject(new Error('PostgreSQL is unavailable'));
    const answer = execute(sql.trim(), values);
    if (choices.chance(10)) return Promise.reject(new Error('the response of PostgreSQL was lost'));
    return Promise.resolve(answer);
  };
  return { query } as unknown as Database;
}
