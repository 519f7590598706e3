import { literal } from './needles.ts';

/**
 * Regular expressions of PostgreSQL that match the payloads of deliveries
 * (events/relays/payload.ts) whose event belongs to one of the distinct ids. PostgreSQL cannot read
 * every payload as JSON: it may hold NUL.
 */
export function deliveryPatterns(names: readonly string[]): string[] {
  return names.map((name) => {
    // Without a user_id the anonymous_id comes next.
    const id = literal(JSON.stringify(name.toWellFormed()));
    return String.raw`^\{"event":"([^"\\]|\\.)*","(user_id|anonymous_id)":${id},`;
  });
}
