import * as setting from '../../platform/setting-kinds.ts';
import { postgresSettings, sinkSettings } from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...sinkSettings,
  ...postgresSettings,
  PROFILES_CACHE_BYTES: setting.bytes({
    default: 256 * 1024 * 1024,
    min: 1024 * 1024,
    doc: 'Memory for recently used profiles of all partitions of a process; an estimate. Others are loaded from ClickHouse.',
  }),
  PROFILES_BATCH_BYTES: setting.bytes({
    default: 16 * 1024 * 1024,
    min: 1024,
    doc: 'Limit of bytes of the log in one batch of a partition.',
  }),
  PROFILES_FOLD_EVENTS: setting.integer({
    default: 50_000,
    min: 1,
    max: 1_000_000,
    doc: 'Limit of events in one fold: their people are loaded together and stay in memory until ClickHouse acknowledges them.',
    unit: 'events',
  }),
  PROFILES_LOAD_BYTES: setting.bytes({
    default: 128 * 1024 * 1024,
    min: 1024 * 1024,
    doc: 'Limit of bytes of the profiles that are loaded from ClickHouse at once; a fold whose people exceed it is done in parts.',
  }),
  PROFILES_INTERVAL: setting.duration({
    default: 5000,
    doc: 'Least time between the starts of two folds of one partition: longer writes active people less often, and makes changes visible later. A process with more than 4 partitions begins as many folds as one with 4: the time grows with them, up to 10 s.',
  }),
  PROFILES_CHECK_HOUR: setting.integer({
    default: 4,
    max: 23,
    doc: 'Hour in Tehran after which profiles are compared with their events each day, a share of every account.',
    unit: 'hour',
  }),
});

export type ProfilesConfig = SettingsOf<typeof settings>;
