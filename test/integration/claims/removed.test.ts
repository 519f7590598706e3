import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import { removeClaims } from '../../../ops/log/advance-epoch/apply.ts';
import { ClaimBatcher } from '../../../platform/claims/claim-batcher.ts';
import { OwnRedis, redisAt } from './redis-under-test.ts';

const WINDOW = 60_000;
const EVENTS = 500;

it('advance-epoch removes every claim: an event that the log lost can be sent again', async () => {
  const own = await OwnRedis.start();
  const redis = new Redis(own.url);
  const claims = new ClaimBatcher({ redis, dedupeTtl: WINDOW });
  try {
    const scope = claimScope('lost', 'message');
    const ids = Array.from({ length: EVENTS }, (_, n) => claimId(scope, String(n)));
    const claimed = async () => {
      const { verdicts } = await claims.claim(ids, Date.now());
      return verdicts.filter((verdict) => verdict === 'claimed').length;
    };
    expect(await claimed()).toBe(EVENTS);
    expect(await claimed()).toBe(0);
    await redis.set('of another', '1');
    await removeClaims(redisAt(own.url), { removesClaims: true });
    expect(await redis.keys('*')).toEqual(['of another']);
    expect(await claimed()).toBe(EVENTS);
  } finally {
    await claims.close();
    redis.disconnect();
    await own.stop();
  }
});
