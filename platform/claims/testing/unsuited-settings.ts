import type { Redis } from 'ioredis';

/**
 * An evicted claim admits a duplicate; a bucket that is not a listpack needs several times the
 * memory.
 */
const REQUIRED = [
  {
    setting: 'maxmemory-policy',
    accepts: (value: string) => value === 'noeviction',
    required: 'noeviction',
  },
  {
    setting: 'hash-max-listpack-entries',
    accepts: (value: string) => Number(value) >= 256,
    required: '512 (at least 256)',
  },
  {
    setting: 'hash-max-listpack-value',
    accepts: (value: string) => Number(value) >= 48,
    required: '64 (at least 48)',
  },
] as const;

/**
 * One sentence per server setting that is unsuitable for claims; none when the server does not
 * allow CONFIG GET. Rejects when Redis is unavailable.
 */
export async function unsuitedSettings(redis: Redis): Promise<string[]> {
  const problems: string[] = [];
  for (const { setting, accepts, required } of REQUIRED) {
    const value = await readSetting(redis, setting);
    if (value !== undefined && !accepts(value))
      problems.push(
        `Redis has ${setting} ${value}: claims need ${required} (CONFIG SET ${setting}, and redis.conf)`,
      );
  }
  return problems;
}

async function readSetting(redis: Redis, setting: string): Promise<string | undefined> {
  try {
    const reply: unknown = await redis.config('GET', setting);
    return Array.isArray(reply) && reply.length === 2 ? String(reply[1]) : undefined;
  } catch (error) {
    // Managed servers refuse CONFIG.
    if (error instanceof Error && /^(ERR unknown command|NOPERM)/.test(error.message))
      return undefined;
    throw error;
  }
}
