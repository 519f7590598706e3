import { compileFilters, type StoredProperties } from './compare.ts';
import type { Filter } from './filter.ts';

/** The fields of a stored event that select it for a relay. */
export interface MatchedEvent {
  event: string;
  /** ms since the epoch */
  received_at: number;
  properties: Readonly<Record<string, string>>;
  property_numbers: Readonly<Record<string, number>>;
}

export interface Selection {
  events: readonly string[];
  filters: readonly Filter[];
  /** Earlier events are not delivered; Unix ms, set when the relay is created or enabled. */
  activeSince: number;
}

/**
 * Compiles which events a relay receives (ingest 2.8, 4.9): its event names (none: every event),
 * all filters, and only events accepted since it is active.
 */
export function compileSelection({
  events,
  filters,
  activeSince,
}: Selection): (event: MatchedEvent) => boolean {
  const names = events.length === 0 ? undefined : new Set(events);
  const passes = compileFilters(filters);
  return (event) => {
    if (event.received_at < activeSince || (names !== undefined && !names.has(event.event)))
      return false;
    const properties: StoredProperties = {
      text: event.properties,
      numbers: event.property_numbers,
    };
    return passes(properties);
  };
}
