import {
  compilePeople,
  type PeopleQuery,
  type PeopleRow,
} from '../../../account-api/campaigns/stats/compile-people.ts';
import type { MessageDataset } from '../../../account-api/campaigns/stats/testing/model.ts';
import type { MessageOutcome } from '../../../schemas/records.ts';
import { EVENTS_DDL } from '../../support/events-ddl.ts';
import { eventColumns, isoTime, openTestDatabase } from '../../support/test-database.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

const DDL = [
  ...EVENTS_DDL,
  'projections/identities/ddl/0004_identities_flat.sql',
  'projections/messages/ddl/0060_messages.sql',
];

/** The tables that stats read, with the live schema, in a database of a test's own. */
export interface StatsDatabase {
  /** Adds datasets under the accounts 1, 2, … */
  load: (datasets: readonly MessageDataset[]) => Promise<void>;
  /** Counts by SQL, in so many parts. */
  count: (query: Omit<PeopleQuery, 'part'>, parts: number) => Promise<PeopleRow>;
  close: () => Promise<void>;
}

export async function openStatsDatabase(name: string): Promise<StatsDatabase> {
  const { client, insert, close } = await openTestDatabase(name, { ddl: DDL, tables: [] });
  return {
    close,
    async load(datasets) {
      const of = <Row extends object>(rows: (one: MessageDataset) => readonly Row[]) =>
        datasets.flatMap((one, at) => rows(one).map((row) => ({ ...row, account_id: at + 1 })));
      // Two inserts: ClickHouse itself replaces rows within one.
      for (const isFirst of [true, false])
        await insert(
          'messages',
          of(({ outcomes }) =>
            outcomes.flatMap((outcome, version) => {
              const before = outcomes.slice(0, version);
              const isAgain = before.some(({ message_id }) => message_id === outcome.message_id);
              return isAgain === isFirst ? [] : messageColumns(outcome, version);
            }),
          ),
        );
      await insert(
        'events',
        of(({ events }) => events.map(eventColumns)),
      );
      await insert(
        'identities_flat',
        of(({ canonical }) => [...canonical].map(([name, to]) => ({ name, canonical: to }))),
      );
      await insert(
        'message_opens',
        of(({ lateOpens }) =>
          lateOpens.map(({ message_id, at }) => ({
            ...{ message_id, campaign_id: Number(/\d+/.exec(message_id)?.[0]) },
            opened_by_person_at: isoTime(at),
          })),
        ),
      );
    },
    async count(query, parts) {
      const rows: PeopleRow[] = [];
      for (let at = 0; at < parts; at++) {
        const { sql, params } = compilePeople({ ...query, part: { at, of: parts } });
        const answer = await onAccount(client, query.accountId).query({
          ...{ query: sql, query_params: params, format: 'JSONEachRow' },
        });
        rows.push(...(await answer.json<PeopleRow>()));
      }
      return rows.reduce((total, row) => {
        const figures = Object.entries(row) as [keyof PeopleRow, number][];
        return Object.fromEntries(
          figures.map(([figure, value]) => [figure, total[figure] + value]),
        ) as unknown as PeopleRow;
      });
    },
  };
}

function messageColumns(outcome: MessageOutcome, version: number): object {
  const { planned_at, finished_at } = outcome;
  return {
    ...{ ...outcome, version },
    ...{ planned_at: isoTime(planned_at), finished_at: isoTime(finished_at) },
  };
}
