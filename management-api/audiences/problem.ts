/** Bounds of management 8.3. */
export const MAX_DEPTH = 8;
export const MAX_CONDITIONS = 200;
export const MAX_LIST_VALUES = 1000;
export const MAX_KEY_BYTES = 128;

/** Carries the sentence out of the reader; readAudience turns it into a value. */
export class InvalidAudience extends Error {}

/**
 * Gives up: `segment: why at $.path`. The sentences that the specification quotes stand without a
 * path.
 */
export function fail(why: string, path?: string): never {
  throw new InvalidAudience(path === undefined ? `segment: ${why}` : `segment: ${why} at ${path}`);
}
