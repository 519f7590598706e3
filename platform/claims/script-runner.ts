import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Script } from './lua.ts';

const digests = new Map<string, string>();

/** Runs scripts by digest; sends the source only when Redis does not have it. */
export class ScriptRunner {
  readonly #redis: Redis;
  readonly #prefix: string;

  constructor(options: { readonly redis: Redis; readonly prefix: string }) {
    this.#redis = options.redis;
    this.#prefix = options.prefix;
  }

  /** Replies contain Buffers. Rejects with the error of ioredis. */
  async run(script: Script, ...values: readonly (Buffer | string | number)[]): Promise<unknown> {
    try {
      return await this.#redis.callBuffer('EVALSHA', digestOf(script), 1, this.#prefix, ...values);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await this.#redis.callBuffer('EVAL', script.source, 1, this.#prefix, ...values);
    }
  }
}

function digestOf(script: Script): string {
  let digest = digests.get(script.name);
  if (digest === undefined) {
    digest = createHash('sha1').update(script.source).digest('hex');
    digests.set(script.name, digest);
  }
  return digest;
}
