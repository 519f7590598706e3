import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { RedisSettings } from '../../../platform/redis/open-redis.ts';
import { redisSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { endWithTest } from '../../support/end-with-test.ts';
import { freePort } from '../../support/service-process.ts';

/**
 * The stack's Redis (REDIS_TEST_URL stands in while developing). Tests that share it keep to a
 * prefix of their own and clear it.
 */
export function stackRedisUrl(): string {
  const given = process.env['REDIS_TEST_URL'];
  if (given !== undefined) return given;
  const home = process.env['RAVAND_HOME'];
  if (home === undefined)
    throw new Error(
      'no Redis to test against: run ./ravand test integration, or set REDIS_TEST_URL',
    );
  return (
    JSON.parse(readFileSync(join(home, 'run', 'ready.json'), 'utf8')) as { redis_url: string }
  ).redis_url;
}

/** Settings of one server. */
export function redisAt(url: string): RedisSettings {
  return parseSettings(redisSettings, { REDIS_URL: url });
}

export function ownPrefix(): string {
  return `{claims-${randomBytes(4).toString('hex')}}:`;
}

export async function clearPrefix(redis: Redis, prefix: string): Promise<void> {
  for await (const keys of redis.scanBufferStream({
    // Shards have longer hash tags.
    match: `${prefix.replace('}:', '')}*`,
    count: 1_000,
  }) as AsyncIterable<Buffer[]>) {
    if (keys.length > 0) await redis.del(...keys);
  }
}

/**
 * A Redis of the test's own, to be frozen, killed and emptied; configured as the stack's. Data
 * survive `restart`, not `stop`.
 */
export class OwnRedis {
  readonly url: string;
  readonly #port: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'ravand-claims-'));
  #process: ChildProcess | null = null;

  private constructor(port: number) {
    this.#port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  static async start(): Promise<OwnRedis> {
    const own = new OwnRedis(await freePort());
    await own.up();
    return own;
  }

  async up(): Promise<void> {
    const settings = {
      port: this.#port,
      bind: '127.0.0.1',
      dir: this.#folder,
      save: '',
      appendonly: 'yes',
      'maxmemory-policy': 'noeviction',
      'hash-max-listpack-entries': 512,
      'hash-max-listpack-value': 64,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.#process = spawn('redis-server', args, { stdio: 'ignore' });
    endWithTest(this.#process);
    const redis = new Redis(this.url, { retryStrategy: () => 20, maxRetriesPerRequest: 500 });
    redis.on('error', () => undefined);
    await redis.ping();
    redis.disconnect();
  }

  async kill(): Promise<void> {
    const running = this.#process;
    if (!running) return;
    this.#process = null;
    running.kill('SIGCONT');
    running.kill('SIGKILL');
    await once(running, 'exit');
  }

  /** Killed hard and started again on the same files. */
  async restart(): Promise<void> {
    await this.kill();
    await this.up();
  }

  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits until the condition holds, at most ten seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (await condition()) return;
    await sleep(20);
  }
  throw new Error('the condition did not come true within ten seconds');
}
