import { postgresSettings, sinkSettings, topicSettings } from '../../platform/settings-common.ts';
import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...sinkSettings,
  ...postgresSettings,
  RAW_RETENTION: topicSettings.RAW_RETENTION,
  BOOKS_INTERVAL: setting.duration({
    default: 3000,
    min: 100,
    doc: 'How often the counts of the log are reconciled with the rows of ClickHouse.',
  }),
  PROFILES_METER_INTERVAL: setting.duration({
    default: 1_800_000,
    min: 1000,
    doc: 'How often the people seen in the Jalali month are counted; the count is at most this old.',
  }),
});

export type MeteringConfig = SettingsOf<typeof settings>;
