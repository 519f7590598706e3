import { consumerSettings } from '../../platform/kafka/consumer-settings.ts';
import * as setting from '../../platform/setting-kinds.ts';
import {
  clickhouseSettings,
  kafkaSettings,
  postgresSettings,
  processSettings,
} from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...consumerSettings,
  ...clickhouseSettings,
  ...postgresSettings,
  IDENTITIES_INTERVAL: setting.duration({
    default: 200,
    doc: 'Least time between the starts of two batches of one partition.',
  }),
});

export type IdentitiesConfig = SettingsOf<typeof settings>;
