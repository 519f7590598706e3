import type { Redis } from 'ioredis';

/**
 * A claim that were evicted would let a duplicate in; a bucket that is no listpack takes several
 * times the memory.
 */
const WANTED = [
  {
    setting: 'maxmemory-policy',
    fits: (value: string) => value === 'noeviction',
    want: 'noeviction',
  },
  {
    setting: 'hash-max-listpack-entries',
    fits: (value: string) => Number(value) >= 256,
    want: '512 (at least 256)',
  },
  {
    setting: 'hash-max-listpack-value',
    fits: (value: string) => Number(value) >= 48,
    want: '64 (at least 48)',
  },
] as const;

/**
 * One sentence for each setting of the server that does not suit claims; none where the server does
 * not let its settings be read. Rejects when it is away.
 */
export async function unsuitedSettings(redis: Redis): Promise<string[]> {
  const complaints: string[] = [];
  for (const { setting, fits, want } of WANTED) {
    const value = await readSetting(redis, setting);
    if (value !== undefined && !fits(value))
      complaints.push(
        `Redis has ${setting} ${value}: claims need ${want} (CONFIG SET ${setting}, and redis.conf)`,
      );
  }
  return complaints;
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
