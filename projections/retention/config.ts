import * as setting from '../../platform/setting-kinds.ts';
import {
  clickhouseSettings,
  postgresSettings,
  processSettings,
} from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...processSettings,
  ...clickhouseSettings,
  ...postgresSettings,
  RETENTION_HOUR: setting.integer({
    default: 3,
    max: 23,
    doc: 'Hour in Tehran after which retention is enforced each day; at once when a day was missed.',
    unit: 'hour',
  }),
  RETENTION_MARGIN: setting.duration({
    default: 24 * 3_600_000,
    doc: 'Events received within this time are left for the next day: rows still in flight to ClickHouse are counted before they are deleted.',
  }),
});

export type RetentionConfig = SettingsOf<typeof settings>;
