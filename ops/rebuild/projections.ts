import type { ProjectionName } from './request.ts';

interface Projection {
  /** The live table. */
  table: string;
  /** The part that writes it, and its consumer group. */
  part: string;
  group: string;
  topic: string;
  /**
   * What the table keeps by itself, days; undefined: everything, so that the log must reach back to
   * its very beginning.
   */
  keeps: number | undefined;
}

/** A day more than the tables keep: TTL drops whole parts late, and days begin in Tehran. */
const MARGIN = 1;

export const PROJECTION: Readonly<Record<ProjectionName, Projection>> = {
  events: {
    table: 'events',
    part: 'events-sink',
    group: 'events-sink',
    topic: 'events.raw',
    keeps: 400 + MARGIN,
  },
  profiles: {
    table: 'profiles',
    part: 'profiles-sink',
    group: 'profiles-sink',
    topic: 'events.raw',
    keeps: undefined,
  },
  identities: {
    table: 'identities_flat',
    part: 'identities-sink',
    group: 'identities-sink',
    topic: 'events.raw',
    keeps: undefined,
  },
  catalogue: {
    table: 'event_catalogue',
    part: 'catalogue-sink',
    group: 'catalogue-sink',
    topic: 'events.raw',
    keeps: 100 + MARGIN,
  },
  quality: {
    table: 'ingest_quality',
    part: 'quality-sink',
    group: 'quality-sink',
    topic: 'ingest.outcomes',
    keeps: 400 + MARGIN,
  },
};
