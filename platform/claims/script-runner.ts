import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ClaimLayout } from './claim-keys.ts';
import { FIRST_BUCKETS, FIRST_PACKS } from './lua.ts';
import type { Script } from './lua.ts';

const prepared = new Map<string, { readonly source: string; readonly digest: string }>();

type FirstCounts = Pick<ClaimLayout, 'firstBuckets' | 'firstPacks'>;

/** Runs scripts on one shard by digest; sends the source only when Redis does not have it. */
export class ScriptRunner {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #first: FirstCounts;

  constructor(options: {
    readonly redis: Redis;
    readonly prefix: string;
    readonly first: FirstCounts;
  }) {
    this.#redis = options.redis;
    this.#prefix = options.prefix;
    this.#first = options.first;
  }

  /** Replies contain Buffers. Rejects with the error of ioredis. */
  async run(script: Script, ...values: readonly (Buffer | string | number)[]): Promise<unknown> {
    const { source, digest } = prepare(script, this.#first);
    try {
      return await this.#redis.callBuffer('EVALSHA', digest, 1, this.#prefix, ...values);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await this.#redis.callBuffer('EVAL', source, 1, this.#prefix, ...values);
    }
  }
}

/** One runner for each shard, in order. */
export function shardRunners(
  redis: Redis,
  { prefixes, firstBuckets, firstPacks }: ClaimLayout,
): ScriptRunner[] {
  const first = { firstBuckets, firstPacks };
  return prefixes.map((prefix) => new ScriptRunner({ redis, prefix, first }));
}

function prepare(script: Script, { firstBuckets, firstPacks }: FirstCounts) {
  const key = `${script.name} ${firstBuckets} ${firstPacks}`;
  let one = prepared.get(key);
  if (!one) {
    const source = script.source
      .replaceAll(FIRST_BUCKETS, String(firstBuckets))
      .replaceAll(FIRST_PACKS, String(firstPacks));
    prepared.set(key, (one = { source, digest: createHash('sha1').update(source).digest('hex') }));
  }
  return one;
}
