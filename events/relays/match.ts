import { compileFilters, type StoredProperties } from './compare.ts';
import type { Filter } from './filter.ts';

/** What a relay looks at of a stored event. */
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
  /**
   * Events that were accepted before are not delivered, ms since the epoch: when the relay was
   * made, or enabled again.
   */
  activeSince: number;
}

/**
 * Compiles which events a relay wants (ingest 2.8, 4.9): its names (none: every event), all its
 * filters, and only what was accepted since it is active.
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
