import { consumerSettings } from '../../platform/kafka/consumer-settings.ts';
import * as setting from '../../platform/setting-kinds.ts';
import {
  clickhouseSettings,
  kafkaSettings,
  processSettings,
} from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...consumerSettings,
  ...clickhouseSettings,
  CATALOGUE_INTERVAL: setting.duration({
    default: 5000,
    doc: 'Least time between two writes of the event catalogue per partition.',
  }),
});

export type CatalogueConfig = SettingsOf<typeof settings>;
