import { exportFileSettings } from '../platform/files/export-files.ts';
import { trustedProxySettings } from '../platform/network/client-address.ts';
import {
  clickhouseSettings,
  kafkaSettings,
  postgresSettings,
  processSettings,
  redisSettings,
} from '../platform/settings-common.ts';
import * as setting from '../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../platform/settings.ts';

/** Settings of the management host. */
export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...clickhouseSettings,
  ...postgresSettings,
  ...redisSettings,
  PUBLIC_API_ADDR: setting.address({
    default: undefined,
    doc: 'Listener of the management host, host:port. Empty: not served, connections are refused.',
  }),
  PUBLIC_API_BUDGET_PER_MINUTE: setting.integer({
    default: 600,
    min: 1,
    unit: 'units',
    doc: 'Request budget of each management key in a calendar minute (management 8.1).',
  }),
  ...trustedProxySettings,
  ...exportFileSettings,
  FEATURE_SEGMENTS: setting.flag({ default: true, doc: 'Serve the /v1/segments routes.' }),
  FEATURE_ANALYTICS: setting.flag({ default: true, doc: 'Serve the report routes.' }),
  FEATURE_INGEST: setting.flag({ default: true, doc: 'Serve POST /v1/events.' }),
  FEATURE_ASYNC_EXPORTS: setting.flag({ default: true, doc: 'Serve the export routes.' }),
});

export type Config = SettingsOf<typeof settings>;
