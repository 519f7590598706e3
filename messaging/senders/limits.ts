import { RefusedChange } from '../../events/channels/fields.ts';
import type { JsonObject } from '../../events/json.ts';

/** How much one sender sends. */
export interface SenderLimits {
  /** Messages a second; undefined: no limit besides that of the provider. */
  perSecond: number | undefined;
  /** Calls of the provider that are open at a time. */
  concurrency: number;
}

const MAX_PER_SECOND = 100_000;
const MAX_CONCURRENT = 1000;

/** Open calls at a time unless `max_concurrent` says otherwise; of other providers DEFAULT. */
const CONCURRENCY: Readonly<Record<string, number>> = {
  fcm: 500,
  apns: 500,
  webpush: 200,
  smtp: 100,
  smpp: 50,
  kavenegar: 50,
  inapp: 20,
};
const DEFAULT_CONCURRENCY = 20;

/** The keys that the config of every provider may have besides its own. */
const LIMIT_KEYS = ['max_per_second', 'max_concurrent'] as const;

/** Throws RefusedChange. */
export function readLimits(config: JsonObject, provider: string): SenderLimits {
  return {
    perSecond: readNumber(config, { key: 'max_per_second', max: MAX_PER_SECOND }),
    concurrency:
      readNumber(config, { key: 'max_concurrent', max: MAX_CONCURRENT }) ??
      CONCURRENCY[provider] ??
      DEFAULT_CONCURRENCY,
  };
}

/** The smallest of each: what keeps those of all senders of a channel. */
export function joinLimits(all: readonly SenderLimits[]): SenderLimits {
  const rates = all.flatMap(({ perSecond }) => perSecond ?? []);
  return {
    perSecond: rates.length === 0 ? undefined : Math.min(...rates),
    concurrency: Math.min(...all.map(({ concurrency }) => concurrency)),
  };
}

/** The config without what readLimits reads: what the provider's own parser gets. */
export function withoutLimits(config: JsonObject): JsonObject {
  const isLimit = (key: string) => LIMIT_KEYS.some((one) => one === key);
  return Object.fromEntries(Object.entries(config).filter(([key]) => !isLimit(key)));
}

function readNumber(
  config: JsonObject,
  { key, max }: { key: (typeof LIMIT_KEYS)[number]; max: number },
): number | undefined {
  const value = config[key] ?? undefined;
  if (value === undefined) return undefined;
  const isRate = key === 'max_per_second';
  const isNumber = typeof value === 'number' && value > 0 && value <= max;
  if (!isNumber || !(isRate ? Number.isFinite(value) : Number.isInteger(value)))
    throw new RefusedChange(
      `${key} is not ${isRate ? 'a number above 0 and up' : 'a whole number from 1'} to ${max}`,
    );
  return value;
}
