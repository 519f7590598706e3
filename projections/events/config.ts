import * as setting from '../../platform/setting-kinds.ts';
import {
  deadLetterSettings,
  postgresSettings,
  sinkSettings,
} from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...sinkSettings,
  ...postgresSettings,
  ...deadLetterSettings,
  SINK_BATCH_ROWS: setting.integer({
    default: 100_000,
    min: 1,
    max: 1_000_000,
    doc: 'Limit of rows in one insert into ClickHouse.',
    unit: 'rows',
  }),
  SINK_BATCH_BYTES: setting.bytes({
    default: 8 * 1024 * 1024,
    min: 1024,
    doc: 'Limit of bytes in one insert; a single record of the log may be larger. A process with more than 4 partitions divides four times these bytes among them.',
  }),
  SINK_INTERVAL: setting.duration({
    default: 800,
    doc: 'Least time between the starts of two inserts of one partition: longer makes fewer, larger parts, and rows visible later. A process with more than 8 partitions makes as many inserts as one with 8: the time grows with them, up to 5 s.',
  }),
});

export type SinkConfig = SettingsOf<typeof settings>;
