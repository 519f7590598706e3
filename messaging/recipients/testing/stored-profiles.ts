import type { ClickHouseClient } from '@clickhouse/client';
import { PROFILE_COLUMNS } from '../../../events/traits.ts';

/** A profile as the statement of read-profiles.ts answers it. */
export interface ProfileRow {
  account?: number;
  name: string;
  events?: number;
  columns?: Record<string, string>;
  traits?: Record<string, string>;
  numbers?: Record<string, number>;
  stamps?: Record<string, string>;
}

/**
 * Answers the same profiles to every question, whatever it asks for: what the statement itself
 * selects is tested against ClickHouse (test/integration/messaging).
 */
export function clickhouseWith(
  rows: readonly ProfileRow[],
): Pick<ClickHouseClient, 'query'> & { statements: string[] } {
  const statements: string[] = [];
  const lines = rows.map(({ columns, account = 1, events = 1, ...row }) => ({
    json: () => ({
      ...{ account, events, traits: {}, numbers: {}, stamps: {} },
      ...Object.fromEntries(PROFILE_COLUMNS.map((column) => [column, ''])),
      ...columns,
      ...row,
    }),
  }));
  const query = ({ query: sql }: { query: string }) => {
    statements.push(sql);
    return Promise.resolve({ stream: () => [lines] });
  };
  return { query: query as unknown as ClickHouseClient['query'], statements };
}
