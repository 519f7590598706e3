import { featureSettings, messageRequestSettings, querySettings } from '../account-api/settings.ts';
import { exportFileSettings } from '../platform/files/export-files.ts';
import { trustedProxySettings } from '../platform/network/client-address.ts';
import { outboundSettings } from '../platform/outbound/outbound-settings.ts';
import { sealingSettings } from '../platform/sealing-settings.ts';
import {
  clickhouseSettings,
  kafkaSettings,
  postgresSettings,
  processSettings,
  redisSettings,
} from '../platform/settings-common.ts';
import * as setting from '../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../platform/settings.ts';
import { trackBaseSettings, trackingSettings } from '../platform/tracking/tracking-settings.ts';

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
  ...querySettings,
  ...trustedProxySettings,
  ...exportFileSettings,
  EXPORT_WORKERS: setting.integer({
    default: 3,
    min: 1,
    unit: 'jobs',
    doc: 'Exports that one process writes at a time; at most one of each account.',
  }),
  EXPORT_TIME_LIMIT: setting.duration({
    default: 3_600_000,
    min: 1000,
    doc: 'Longest run of an export; a longer one fails.',
  }),
  MAX_EXPORT_BYTES_PER_ACCOUNT: setting.bytes({
    default: 10 * 2 ** 30,
    min: 1,
    doc: 'Export files of one account, in EXPORT_DIR or S3; an export beyond it fails.',
  }),
  EXPORT_MIN_FREE_BYTES: setting.bytes({
    default: 2 ** 30,
    doc: 'Space that exports leave free in the file system of EXPORT_DIR.',
  }),
  ...sealingSettings,
  ...outboundSettings,
  ...trackingSettings,
  ...trackBaseSettings,
  ...messageRequestSettings,
  ...featureSettings,
});

export type Config = SettingsOf<typeof settings>;
