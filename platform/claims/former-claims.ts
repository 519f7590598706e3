import type { Redis } from 'ioredis';
import { removeKeys } from './remove-claims.ts';

/** Escapes what SCAN would take for a pattern. */
const literally = (text: string) => text.replaceAll(/[\\*?[\]^-]/g, '\\$&');

/**
 * The claims of a release that kept all of them in one slot of a Redis Cluster. While they have a
 * marker, a normaliser of that release may resolve claims with them: then ours lack some, and are
 * void (pipeline/normalise/BACKFILL.md). Calls are single attempts.
 */
export class FormerClaims {
  readonly #redis: Redis;
  readonly #prefix: string;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  async areInUse(): Promise<boolean> {
    return (await this.#redis.exists(`${this.#prefix}marker`)) === 1;
  }

  /**
   * A normaliser that still uses them finds them lost. It loads nothing before it owns every
   * partition.
   */
  async invalidate(): Promise<void> {
    await this.#redis.unlink(`${this.#prefix}marker`, `${this.#prefix}ends`);
  }

  async remove(): Promise<void> {
    await removeKeys(this.#redis, `${literally(this.#prefix)}*`);
  }
}
