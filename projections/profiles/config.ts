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
  PROFILES_CACHE_BYTES: setting.bytes({
    default: 256 * 1024 * 1024,
    min: 1024 * 1024,
    doc: 'Memory for profiles that were used last, over all partitions of a process; an estimate. Others are loaded from ClickHouse when they are needed.',
  }),
  PROFILES_BATCH_BYTES: setting.bytes({
    default: 16 * 1024 * 1024,
    min: 1024,
    doc: 'Most bytes of the log that one partition takes at a time.',
  }),
  PROFILES_FOLD_EVENTS: setting.integer({
    default: 50_000,
    min: 1,
    max: 1_000_000,
    doc: 'Most events of one fold: their people are loaded together, and stay in memory until ClickHouse has acknowledged them.',
    unit: 'events',
  }),
  PROFILES_INTERVAL: setting.duration({
    default: 1000,
    doc: 'Least time between the beginnings of two folds of one partition: longer writes a person who acts often less often, and is visible later.',
  }),
});

export type ProfilesConfig = SettingsOf<typeof settings>;
