import type { Static } from 'typebox';
import type { CampaignStore } from '../../messaging/campaigns/campaign-store.ts';
import type { ReadMessageSettings } from '../../messaging/settings/settings-store.ts';
import type { TemplateStore } from '../../messaging/templates/template-store.ts';
import type { StatsSchema } from './schemas.ts';

/** What became of a campaign's messages; rejects when a store does not answer. */
export type ReadStats = (query: {
  accountId: number;
  campaignId: number;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}) => Promise<Static<typeof StatsSchema>>;

/** What the /v1/campaigns routes need. */
export interface Campaigns {
  store: Pick<CampaignStore, 'create' | 'list' | 'find' | 'change'>;
  templates: Pick<TemplateStore, 'newest'>;
  readSettings: ReadMessageSettings;
  readStats: ReadStats;
}
