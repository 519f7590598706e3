/** Files that make the table `events` with the columns that reports read. */
export const EVENTS_DDL: readonly string[] = [
  'projections/events/ddl/0001_events.sql',
  'projections/events/ddl/0096_property_words.sql',
];
