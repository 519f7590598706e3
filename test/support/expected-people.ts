import type { ClickHouseClient } from '@clickhouse/client';
import { onAccount } from '../../platform/clickhouse/shards.ts';
import { PROFILE_COLUMNS } from '../../events/traits.ts';
import { specifiedPeople } from '../../projections/identities/testing/reference-merge.ts';
import type { ProfileEvent } from '../../projections/profiles/profile.ts';
import { specifiedProfiles } from '../../projections/profiles/testing/reference-fold.ts';
import type { AliasFact } from '../../projections/identities/alias-fact.ts';
import { rows } from './stack.ts';

/** A row of `people`: amounts as text with three decimals, times in ms. */
export interface PersonFigures {
  person: string;
  first_seen: number;
  last_seen: number;
  total_revenue: string;
  order_count: number;
  last_order_at: number | null;
  columns: Record<string, string>;
  traits: Record<string, string>;
  trait_numbers: Record<string, number>;
}

/** What `people` must hold for these events of one account, by the reference implementations. */
export function expectedPeople(
  events: readonly ProfileEvent[],
  aliases: readonly AliasFact[],
): Map<string, PersonFigures> {
  const canonical = specifiedPeople(aliases);
  const byPerson = Map.groupBy(events, (event) => {
    const id = event.user_id === '' ? event.anonymous_id : event.user_id;
    return canonical.get(id) ?? id;
  });
  return new Map([...byPerson].map(([person, own]) => [person, figuresOf(person, own)]));
}

function figuresOf(person: string, events: readonly ProfileEvent[]): PersonFigures {
  const profiles = [...specifiedProfiles(events).values()];
  // Traits are decided over the writes of all distinct ids, as if one had written them all.
  const [merged] = specifiedProfiles(
    events.map((event) => ({ ...event, user_id: person })),
  ).values();
  const orders = profiles.flatMap(({ last_order_at }) => last_order_at ?? []);
  return {
    person,
    first_seen: Math.min(...profiles.map(({ first_seen }) => first_seen)),
    last_seen: Math.max(...profiles.map(({ last_seen }) => last_seen)),
    total_revenue: amountText(profiles.reduce((sum, { total_revenue }) => sum + total_revenue, 0n)),
    order_count: profiles.reduce((sum, { order_count }) => sum + order_count, 0),
    last_order_at: orders.length === 0 ? null : Math.max(...orders),
    columns: merged?.columns ?? {},
    traits: merged?.traits ?? {},
    trait_numbers: merged?.trait_numbers ?? {},
  };
}

function amountText(thousandths: bigint): string {
  const digits = String(thousandths < 0n ? -thousandths : thousandths).padStart(4, '0');
  return `${thousandths < 0n ? '-' : ''}${digits.slice(0, -3)}.${digits.slice(-3)}`;
}

const QUERY = `SELECT person,
    toUnixTimestamp64Milli(first_seen) AS first_seen, toUnixTimestamp64Milli(last_seen) AS last_seen,
    toDecimalString(total_revenue, 3) AS total_revenue, order_count,
    toUnixTimestamp64Milli(last_order_at) AS last_order_at,
    map(${PROFILE_COLUMNS.map((column) => `'${column}', ${column}`).join(', ')}) AS columns,
    traits, trait_numbers
  FROM people WHERE account_id = {a:UInt64}`;

/** The rows of `people` of an account, without empty columns. */
export async function storedPeople(
  client: ClickHouseClient,
  accountId: number,
): Promise<Map<string, PersonFigures>> {
  const found = await rows<PersonFigures>(onAccount(client, accountId), QUERY, { a: accountId });
  return new Map(
    found.map((row) => [
      row.person,
      {
        ...row,
        columns: Object.fromEntries(Object.entries(row.columns).filter(([, text]) => text !== '')),
      },
    ]),
  );
}
