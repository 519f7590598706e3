import type { Frequency, UrlCondition } from './definition.ts';

/** A session ends so long after a campaign was shown in it, ms. */
export const SESSION_MS = 30 * 60_000;

/** What decides where and when a campaign is shown. */
export interface Targeting<Audience> {
  url: readonly UrlCondition[];
  /** Undefined: everybody. */
  audience: Audience | undefined;
  /** ms since the epoch; -Infinity and Infinity when open. */
  startsAt: number;
  endsAt: number;
}

/** Somebody on a page. */
export interface Visit<Audience> {
  /** Of the page, as sent; empty when absent. */
  url: string;
  /** ms since the epoch. */
  now: number;
  isMember: (audience: Audience) => boolean;
}

/** Whether a campaign is for this page, time and visitor; the cheapest condition first. */
export function isTargeted<Audience>(
  campaign: Targeting<Audience>,
  { url, now, isMember }: Visit<Audience>,
): boolean {
  if (now < campaign.startsAt || now >= campaign.endsAt) return false;
  if (campaign.url.length > 0 && !campaign.url.some((condition) => matchesUrl(condition, url)))
    return false;
  return campaign.audience === undefined || isMember(campaign.audience);
}

/** Compares as sent: no case folding, no decoding. */
export function matchesUrl({ op, value }: UrlCondition, url: string): boolean {
  switch (op) {
    case 'contains':
      return url.includes(value);
    case 'prefix':
      return url.startsWith(value);
    case 'equals':
      return url === value;
  }
}

/**
 * Whether a visitor sees a campaign again.
 * @param shownAt when it was last shown to them, ms since the epoch; undefined: never, as far as
 * the server knows
 */
export function isDueAgain(
  frequency: Frequency,
  { shownAt, now }: { shownAt: number | undefined; now: number },
): boolean {
  if (frequency === 'always' || shownAt === undefined) return true;
  return frequency === 'session' && now - shownAt >= SESSION_MS;
}
