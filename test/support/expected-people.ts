import type { ClickHouseClient } from '@clickhouse/client';
import { PROFILE_COLUMNS } from '../../events/traits.ts';
import { specifiedPeople } from '../../projections/identities/testing/reference-identities.ts';
import type { ProfileEvent } from '../../projections/profiles/profile.ts';
import { specifiedProfiles } from '../../projections/profiles/testing/reference-fold.ts';
import type { AliasFact } from '../../projections/identities/alias-fact.ts';
import { rows } from './stack.ts';

/** A row of `people`, amounts as text to the last thousandth; times in ms. */
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

/**
 * What `people` must hold for these events of one account, computed in memory from the
 * specifications alone.
 */
export function expectedPeople(
  events: readonly ProfileEvent[],
  aliases: readonly AliasFact[],
): Map<string, PersonFigures> {
  const canonical = specifiedPeople(aliases);
  const byPerson = Map.groupBy(events, (event) => {
    const name = event.user_id === '' ? event.anonymous_id : event.user_id;
    return canonical.get(name) ?? name;
  });
  return new Map([...byPerson].map(([person, own]) => [person, figuresOf(person, own)]));
}

function figuresOf(person: string, events: readonly ProfileEvent[]): PersonFigures {
  const names = [...specifiedProfiles(events).values()];
  // Traits are decided over the writes of all names, as if one name had written them.
  const [asOne] = specifiedProfiles(
    events.map((event) => ({ ...event, user_id: person })),
  ).values();
  const orders = names.flatMap(({ last_order_at }) => last_order_at ?? []);
  return {
    person,
    first_seen: Math.min(...names.map(({ first_seen }) => first_seen)),
    last_seen: Math.max(...names.map(({ last_seen }) => last_seen)),
    total_revenue: amountText(names.reduce((sum, { total_revenue }) => sum + total_revenue, 0n)),
    order_count: names.reduce((sum, { order_count }) => sum + order_count, 0),
    last_order_at: orders.length === 0 ? null : Math.max(...orders),
    columns: asOne?.columns ?? {},
    traits: asOne?.traits ?? {},
    trait_numbers: asOne?.trait_numbers ?? {},
  };
}

function amountText(thousandths: bigint): string {
  const digits = String(thousandths < 0n ? -thousandths : thousandths).padStart(4, '0');
  return `${thousandths < 0n ? '-' : ''}${digits.slice(0, -3)}.${digits.slice(-3)}`;
}

const QUERY = `SELECT person, toUnixTimestamp64Milli(first_seen) AS first_seen, toUnixTimestamp64Milli(last_seen) AS last_seen, toDecimalString(total_revenue, 3) AS total_revenue,
  order_count, toUnixTimestamp64Milli(last_order_at) AS last_order_at, map(${PROFILE_COLUMNS.map((column) => `'${column}', ${column}`).join(', ')}) AS columns, traits, trait_numbers
  FROM people WHERE account_id = {a:UInt64}`;

/** The rows of `people` of an account as they are; empty columns left out. */
export async function storedPeople(
  client: ClickHouseClient,
  accountId: number,
): Promise<Map<string, PersonFigures>> {
  const found = await rows<PersonFigures>(client, QUERY, { a: accountId });
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
