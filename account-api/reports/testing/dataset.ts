import { distinctIdOf } from '../../../events/event-name.ts';
import type { EventRow } from '../../../schemas/records.ts';
import {
  matchesFilter,
  valueOf,
  type PersonTraits,
} from '../../../audiences/conditions/predicate.ts';
import type { EventSelector, Filter, Target } from '../../../audiences/conditions/condition.ts';

/** The stored data of one account: the input of the models. */
export interface Dataset {
  events: readonly EventRow[];
  /** Aliased distinct ids and their person (reports: People). */
  canonical: ReadonlyMap<string, string>;
  /** Current traits by person. */
  people: ReadonlyMap<string, PersonTraits>;
}

/** The total order of events: (timestamp, received_at, _partition, _offset, _index). */
export function compareEvents(a: EventRow, b: EventRow): number {
  return (
    a.timestamp - b.timestamp ||
    a.received_at - b.received_at ||
    a._partition - b._partition ||
    a._offset - b._offset ||
    a._index - b._index
  );
}

/**
 * The events of each person in total order, those left out that the report's filters or the bot
 * rule exclude.
 */
export function eventsByPerson(
  dataset: Dataset,
  rules: { filters: readonly Filter[]; includeBots: boolean },
): Map<string, EventRow[]> {
  const byPerson = new Map<string, EventRow[]>();
  for (const event of dataset.events) {
    const person = personOf(dataset, event);
    if (event.is_bot && !rules.includeBots) continue;
    if (
      !rules.filters.every((filter) =>
        matchesFilter(filter, { event, person: dataset.people.get(person) }),
      )
    )
      continue;
    byPerson.set(person, [...(byPerson.get(person) ?? []), event]);
  }
  for (const events of byPerson.values()) events.sort(compareEvents);
  return byPerson;
}

function personOf(dataset: Dataset, event: EventRow): string {
  const name = distinctIdOf(event);
  return dataset.canonical.get(name) ?? name;
}

export function matches(dataset: Dataset, selector: EventSelector, event: EventRow): boolean {
  const person = dataset.people.get(personOf(dataset, event));
  return (
    event.event === selector.event &&
    selector.filters.every((filter) => matchesFilter(filter, { event, person }))
  );
}

/** The text under which an event counts in a breakdown; null when it has none. */
export function breakdownText(dataset: Dataset, target: Target, event: EventRow): string | null {
  return (
    valueOf(target, { event, person: dataset.people.get(personOf(dataset, event)) })?.text ?? null
  );
}

interface Group<T> {
  value: string | null;
  other?: true;
  members: T[];
}

/**
 * The groups of a breakdown in the order of the answer: the largest values up to the limit, the
 * other values together, those without a value. Equal sizes go by the UTF-8 bytes of the value, as
 * ClickHouse sorts.
 */
export function breakdownGroups<T>(
  all: readonly T[],
  { limit, textOf }: { limit: number; textOf: (member: T) => string | null },
): Group<T>[] {
  const groups = Map.groupBy(all, textOf);
  const withoutValue = groups.get(null);
  groups.delete(null);
  const values = [...groups].sort(
    ([a, as], [b, bs]) =>
      bs.length - as.length || Buffer.compare(Buffer.from(a ?? ''), Buffer.from(b ?? '')),
  );
  const others = values.slice(limit).flatMap(([, members]) => members);
  return [
    ...values.slice(0, limit).map(([value, members]) => ({ value, members })),
    ...(others.length > 0 ? [{ value: null, other: true as const, members: others }] : []),
    ...(withoutValue ? [{ value: null, members: withoutValue }] : []),
  ];
}
