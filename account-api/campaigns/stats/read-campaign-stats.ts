import type { ClickHouseClient } from '@clickhouse/client';
import type { MergesOf } from '../../../audiences/people-sql.ts';
import { readRows } from '../../../platform/clickhouse/rows.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { compilePeople, type PeopleQuery, type PeopleRow } from './compile-people.ts';
import { newcombe } from './newcombe.ts';
import { readBalance, readRuns, type Balance } from './runs.ts';
import { onAccount } from '../../../platform/clickhouse/shards.ts';

/** The uplift by intention to treat; rates and the difference are fractions. */
export interface Uplift {
  treated_rate: number;
  control_rate: number;
  difference: number;
  /** Newcombe's 95 % interval. */
  low: number;
  high: number;
  /** The interval excludes 0. */
  significant: boolean;
}

/** `stats` of GET /v1/campaigns/{id}: the balance counts messages, everything else people. */
export interface CampaignStats extends Balance {
  opened: number;
  clicked: number;
  converted: number;
  /** Of all goal events that belong to messages of the campaign. */
  revenue: number;
  uplift: Uplift | null;
}

/** Counts in the warehouse, in queries of bounded memory. */
export type CountPeople = (
  query: Omit<PeopleQuery, 'part'> & { signal: AbortSignal },
) => Promise<PeopleRow>;

/** Recipients that one query counts. */
const PART_PEOPLE = 400_000;
const MAX_PARTS = 64;
/** Rows that one step of the query holds: some people have many touches and goal events. */
const BLOCK_ROWS = '4096';

export function peopleCounter(client: Pick<ClickHouseClient, 'query'>): CountPeople {
  return async ({ signal, ...query }) => {
    const total = { ...NOBODY };
    const of = partsOf(query);
    for (let at = 0; at < of; at++) {
      const { sql, params } = compilePeople({ ...query, part: { at, of } });
      const settings = ` SETTINGS max_block_size = ${BLOCK_ROWS}`;
      const rows = await readRows<PeopleRow>({
        client: onAccount(client, query.accountId),
        ...{ sql: sql + settings, params, signal },
      });
      for (const row of rows) add(total, row);
    }
    return total;
  };
}

function partsOf({ runs, campaignId }: Pick<PeopleQuery, 'runs' | 'campaignId'>): number {
  const people = runs
    .filter((run) => run.campaignId === campaignId)
    .reduce((sum, { planned }) => sum + planned, 0);
  return Math.min(MAX_PARTS, Math.max(1, Math.ceil(people / PART_PEOPLE)));
}

function add(total: PeopleRow, row: PeopleRow): void {
  for (const figure of Object.keys(total) as (keyof PeopleRow)[]) total[figure] += row[figure];
}

const NOBODY: PeopleRow = {
  ...{ opened: 0, clicked: 0, converted: 0, revenue: 0 },
  ...{ treated: 0, treated_converted: 0, control: 0, control_converted: 0 },
};

interface StatsDeps {
  database: Pick<Database, 'query'>;
  mergesOf: MergesOf;
  countPeople: CountPeople;
}

export interface StatsQuery {
  accountId: number;
  campaignId: number;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}

/**
 * What became of a campaign (docs/message-stats.md). Each run counts by the goal and the control
 * group of the definition that it was asked for with. Rejects when a store does not answer.
 */
export async function readCampaignStats(
  { database, mergesOf, countPeople }: StatsDeps,
  { accountId, campaignId, now, signal }: StatsQuery,
): Promise<CampaignStats> {
  const balance = await readBalance(database, { accountId, campaignId });
  const runs = await readRuns(database, { accountId, campaignId, now });
  if (runs.length === 0) return { ...balance, ...figuresOf(NOBODY) };
  const merges = await mergesOf(accountId, signal);
  const people = await countPeople({ accountId, campaignId, runs, merges, now, signal });
  return { ...balance, ...figuresOf(people) };
}

function figuresOf({
  opened,
  clicked,
  converted,
  revenue,
  ...sides
}: PeopleRow): Omit<CampaignStats, keyof Balance> {
  return { opened, clicked, converted, revenue, uplift: upliftOf(sides) };
}

/** Null: one of the sides has nobody. */
function upliftOf(
  row: Pick<PeopleRow, 'treated' | 'treated_converted' | 'control' | 'control_converted'>,
): Uplift | null {
  if (row.treated === 0 || row.control === 0) return null;
  const treated = { people: row.treated, converted: row.treated_converted };
  const control = { people: row.control, converted: row.control_converted };
  const interval = newcombe(treated, control);
  return {
    treated_rate: treated.converted / treated.people,
    control_rate: control.converted / control.people,
    ...interval,
    significant: interval.low > 0 || interval.high < 0,
  };
}
