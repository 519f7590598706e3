import { consumerSettings } from '../../platform/kafka/consumer-settings.ts';
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
});

export type QualityConfig = SettingsOf<typeof settings>;
