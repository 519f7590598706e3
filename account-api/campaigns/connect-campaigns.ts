import { CampaignStore } from '../../messaging/campaigns/campaign-store.ts';
import { parseSettingTexts } from '../../messaging/settings/setting-texts.ts';
import { readSettingTexts } from '../../messaging/settings/settings-store.ts';
import { TemplateStore } from '../../messaging/templates/template-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Campaigns, ReadStats } from './ports.ts';

/** What the /v1/campaigns routes need, over the database and the stats of messages. */
export function connectCampaigns(database: Database, readStats: ReadStats): Campaigns {
  return {
    store: new CampaignStore(database, Date.now),
    templates: new TemplateStore(database),
    // Not from a cache: an approval that is required from now on is required of the next send.
    readSettings: async (accountId) =>
      parseSettingTexts(await readSettingTexts(database, accountId)),
    readStats,
  };
}
