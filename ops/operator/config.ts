import { exportFileSettings } from '../../platform/files/export-files.ts';
import * as setting from '../../platform/setting-kinds.ts';
import {
  clickhouseSettings,
  dedupeSettings,
  kafkaSettings,
  migrationUrlSettings,
  postgresSettings,
  processSettings,
  redisSettings,
} from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

/** Also what the commands read that it runs. */
export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...clickhouseSettings,
  ...migrationUrlSettings,
  ...postgresSettings,
  ...redisSettings,
  ...dedupeSettings,
  ...exportFileSettings,
  OPERATOR_INDEX_INTERVAL: setting.duration({
    default: 600_000,
    min: 1000,
    doc: 'Interval between two reads of events.dead into the list of dead letters of the panel while nobody looks at that page; who does causes one at once.',
  }),
});

export type OperatorConfig = SettingsOf<typeof settings>;
