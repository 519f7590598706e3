import type { EventRow } from '../../schemas/records.ts';

/** The fields of a stored event that a customer's endpoint receives. */
export type RelayedEvent = Pick<
  EventRow,
  | ('event' | 'user_id' | 'anonymous_id' | 'timestamp')
  | ('properties' | 'property_numbers' | 'message_id')
>;

/**
 * The body of a relay request as JSON (ingest 6.2): event, user_id and anonymous_id (omitted when
 * empty), timestamp (RFC 3339, UTC, milliseconds), properties (omitted when empty), message_id, in
 * this order. The same event always gives the same bytes: properties keep the order of the log.
 */
export function relayPayload(event: RelayedEvent): string {
  const parts = [`"event":${JSON.stringify(event.event)}`];
  if (event.user_id !== '') parts.push(`"user_id":${JSON.stringify(event.user_id)}`);
  if (event.anonymous_id !== '') parts.push(`"anonymous_id":${JSON.stringify(event.anonymous_id)}`);
  parts.push(`"timestamp":"${new Date(event.timestamp).toISOString()}"`);
  const properties = Object.entries(event.properties).map(
    ([key, text]) => `${JSON.stringify(key)}:${merged(text, numberUnder(event, key))}`,
  );
  if (properties.length > 0) parts.push(`"properties":{${properties.join(',')}}`);
  parts.push(`"message_id":${JSON.stringify(event.message_id)}`);
  return `{${parts.join(',')}}`;
}

function numberUnder({ property_numbers }: RelayedEvent, key: string): number | undefined {
  return Object.hasOwn(property_numbers, key) ? property_numbers[key] : undefined;
}

/**
 * One value of the merged map: a number replaces its text; true and false, which the number map
 * stores as 1 and 0, become booleans again.
 */
function merged(text: string, number: number | undefined): string {
  if (number === undefined) return JSON.stringify(text);
  return text === 'true' || text === 'false' ? text : JSON.stringify(number);
}
