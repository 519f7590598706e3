import { packProfile, unpackProfile } from './profile-row.ts';
import type { PackedProfile, Profile } from './profile.ts';

/**
 * Memory of a cached profile without its texts: two strings and an entry of a map. Measured with
 * bench/profiles.ts.
 */
const PROFILE_BYTES = 100;

/**
 * A larger profile is not cached but loaded for each fold. Only profiles from before the limits of
 * traits are larger.
 */
const MAX_PACKED_BYTES = 1024 * 1024;

/** Estimated memory of a cached profile, bytes. */
function sizeOf(key: string, packed: PackedProfile): number {
  return PROFILE_BYTES + 2 * key.length + packed.length;
}

/** One of the two generations. */
class Generation {
  readonly entries = new Map<string, PackedProfile>();
  bytes = 0;

  set(key: string, packed: PackedProfile): void {
    const before = this.entries.get(key);
    this.bytes += before === undefined ? sizeOf(key, packed) : packed.length - before.length;
    this.entries.set(key, packed);
  }

  delete(key: string): void {
    const packed = this.entries.get(key);
    if (packed !== undefined && this.entries.delete(key)) this.bytes -= sizeOf(key, packed);
  }
}

/**
 * The most recently used profiles of one partition, at most about `limit()` bytes. A used profile
 * moves into the young generation; when that holds half the limit, the old generation is dropped.
 * Every entry is what ClickHouse stores, so dropping it loses nothing.
 */
export class ProfileCache {
  readonly #limit: () => number;
  #young = new Generation();
  #old = new Generation();

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#young.entries.size + this.#old.entries.size;
  }

  get bytes(): number {
    return this.#young.bytes + this.#old.bytes;
  }

  get(key: string): Profile | undefined {
    const packed = this.getPacked(key);
    return packed === undefined ? undefined : unpackProfile(packed);
  }

  getPacked(key: string): PackedProfile | undefined {
    const young = this.#young.entries.get(key);
    if (young !== undefined) return young;
    const old = this.#old.entries.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#keep(key, old);
    return old;
  }

  /** @param key `profileKey` of the profile */
  set(key: string, profile: Profile | PackedProfile): void {
    const packed = typeof profile === 'string' ? profile : packProfile(profile);
    this.#old.delete(key);
    if (packed.length > MAX_PACKED_BYTES) this.#young.delete(key);
    else this.#keep(key, packed);
  }

  clear(): void {
    this.#young = new Generation();
    this.#old = new Generation();
  }

  #keep(key: string, packed: PackedProfile): void {
    this.#young.set(key, packed);
    if (this.#young.bytes < this.#limit() / 2) return;
    this.#old = this.#young;
    this.#young = new Generation();
  }
}
