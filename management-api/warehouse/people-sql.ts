import type { SqlParams } from './sql-params.ts';

/**
 * How names become people (reports.md, "People"). 'none': nobody of the account was ever joined to
 * anybody, a name is a person. 'table': the table `identities_flat` (account_id, name, canonical)
 * says whose a name is; names that were never joined are not in it.
 */
export type Merges = 'none' | 'table';

export interface PeopleSql {
  /** What stands behind FROM. */
  source: string;
  /** The person of a row, UInt64: sipHash64 of the person's name. */
  person: string;
}

/**
 * The rows of `events` with their people. Without merges it costs nothing; with them, one probe of
 * a hash table a row.
 */
export function peopleSql(options: {
  merges: Merges;
  accountId: number;
  params: SqlParams;
}): PeopleSql {
  const { merges, accountId, params } = options;
  if (merges === 'none') return { source: 'events', person: '_person' };
  const joined = `SELECT sipHash64(name) AS joined_name, sipHash64(canonical) AS joined_person FROM identities_flat FINAL WHERE account_id = ${params.whole(accountId)} AND name != canonical`;
  return {
    source: `events LEFT ANY JOIN (${joined}) AS identities ON _person = joined_name`,
    // a row without a match has 0 in both
    person: 'if(joined_name = _person, joined_person, _person)',
  };
}
