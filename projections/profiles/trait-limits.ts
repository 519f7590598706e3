import { utf8Length } from '../../events/bytes.ts';
import { isProfileColumn } from '../../events/traits.ts';
import type { Write } from './writes.ts';

/** Bounds of the free traits of one profile; the fifteen columns are bounded by themselves. */
export interface TraitLimits {
  traits: number;
  /** Keys and texts of all traits in UTF-8. */
  bytes: number;
}

export const TRAIT_LIMITS: TraitLimits = { traits: 1000, bytes: 128 * 1024 };

/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const UNIT_BYTES = 3;

/** Upper bound of what the traits of an event add to a profile, bytes. */
export function maxTraitBytes(traits: Readonly<Record<string, string>>): number {
  let units = 0;
  for (const key in traits) units += key.length + (traits[key]?.length ?? 0);
  return units * UNIT_BYTES;
}

/**
 * Decides which writes a profile has room for: a new trait while there are fewer than the limit,
 * and any write that leaves the traits within their bytes or does not make them larger. So a
 * profile that exceeds the limits keeps what it has.
 */
export class TraitRoom {
  readonly #limits: TraitLimits;
  #traits = 0;
  #bytes = 0;

  constructor(writes: ReadonlyMap<string, Write>, limits: TraitLimits) {
    this.#limits = limits;
    for (const [key, { text }] of writes) {
      if (isProfileColumn(key)) continue;
      this.#traits++;
      this.#bytes += sizeOf(key, text);
    }
  }

  /** Whether the trait may get this text; its former text is undefined for a new trait. */
  admit(key: string, text: string, before: string | undefined): boolean {
    if (before === undefined && this.#traits >= this.#limits.traits) return false;
    const growth = sizeOf(key, text) - (before === undefined ? 0 : sizeOf(key, before));
    if (growth > 0 && this.#bytes + growth > this.#limits.bytes) return false;
    this.#bytes += growth;
    if (before === undefined) this.#traits++;
    return true;
  }
}

function sizeOf(key: string, text: string): number {
  return utf8Length(key) + utf8Length(text);
}
