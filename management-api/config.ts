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
  CLICKHOUSE_REPORTS_URL: setting.text({
    default: '',
    doc: 'ClickHouse with a user of its own for reports, audience counts and exports: their memory is then limited together, apart from inserts. Empty: CLICKHOUSE_URL, and REPORTS_MEMORY_PERCENT is divided among the queries.',
    unit: 'URL',
    secret: true,
  }),
  REPORTS_MEMORY_PERCENT: setting.integer({
    default: 50,
    min: 1,
    max: 90,
    unit: '%',
    doc: "Share of ClickHouse's memory that reports, audience counts and exports of one process may use together; inserts keep the rest.",
  }),
  MAX_QUERIES: setting.integer({
    default: 16,
    min: 1,
    unit: 'queries',
    doc: 'Reports and audience counts of one process that run in ClickHouse at a time. Accounts take turns.',
  }),
  MAX_QUERIES_PER_ACCOUNT: setting.integer({
    default: 4,
    min: 1,
    unit: 'queries',
    doc: 'Of these, reports and audience counts of one account. Further ones wait.',
  }),
  MAX_QUERIES_WAITING: setting.integer({
    default: 20,
    min: 0,
    unit: 'queries',
    doc: 'Reports and audience counts of one account that wait; further ones are answered 429.',
  }),
  MAX_REQUESTS_PER_ACCOUNT: setting.integer({
    default: 32,
    min: 1,
    unit: 'requests',
    doc: 'Requests of one account that a process serves at a time; further ones are answered 429.',
  }),
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
  API_RATE_PER_MINUTE: setting.integer({
    default: 0,
    unit: 'requests',
    doc: 'Requests to POST /v1/messages in a calendar minute, for accounts without a limit of their own. 0: no limit.',
  }),
  API_IDEMPOTENCY_RETENTION: setting.duration({
    default: 168 * 3_600_000,
    min: 60_000,
    doc: 'How long the result of a transactional message is replayed for its idempotency key.',
  }),
  API_STALE_RESERVATION: setting.duration({
    default: 60_000,
    min: 1000,
    doc: 'After this time the idempotency key of a transactional message whose request did not finish can be used again.',
  }),
  FEATURE_SEGMENTS: setting.flag({ default: true, doc: 'Serve the /v1/segments routes.' }),
  FEATURE_ANALYTICS: setting.flag({ default: true, doc: 'Serve the report routes.' }),
  FEATURE_INGEST: setting.flag({ default: true, doc: 'Serve POST /v1/events.' }),
  FEATURE_ASYNC_EXPORTS: setting.flag({ default: true, doc: 'Serve the export routes.' }),
  FEATURE_CAMPAIGNS: setting.flag({ default: true, doc: 'Serve the /v1/campaigns routes.' }),
  FEATURE_CAMPAIGN_RECURRENCE: setting.flag({
    default: true,
    doc: 'Serve PUT and DELETE /v1/campaigns/{id}/recurrence, where campaigns are served.',
  }),
  FEATURE_CAMPAIGN_APPROVAL: setting.flag({
    default: true,
    doc: 'Serve POST /v1/campaigns/{id}/submit, and refuse to send without the approval that an account requires (approval_required). Where it is off, keep approval_required off too: recurrences obey the setting of the account.',
  }),
  FEATURE_TRANSACTIONAL: setting.flag({ default: true, doc: 'Serve POST /v1/messages.' }),
});

export type Config = SettingsOf<typeof settings>;
