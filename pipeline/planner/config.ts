import {
  clickhouseSettings,
  kafkaSettings,
  postgresSettings,
  processSettings,
} from '../../platform/settings-common.ts';
import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...clickhouseSettings,
  ...postgresSettings,
  PLANNER_FREEZES: setting.integer({
    default: 2,
    min: 1,
    max: 64,
    unit: 'queries',
    doc: 'Audiences that one process freezes at a time, at most one of each account.',
  }),
  PLANNER_FREEZE_TIME_LIMIT: setting.duration({
    default: 600_000,
    min: 1000,
    doc: 'Longest query that freezes an audience. A run whose audience took longer five times fails.',
  }),
  PLANNER_MEMORY_PERCENT: setting.integer({
    default: 25,
    min: 1,
    max: 90,
    unit: '%',
    doc: "Share of ClickHouse's memory that the queries of PLANNER_FREEZES may use together.",
  }),
});

export type PlannerConfig = SettingsOf<typeof settings>;
