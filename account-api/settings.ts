import { reportsUrlSettings } from '../platform/settings-common.ts';
import * as setting from '../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../platform/settings.ts';
import { decideFeatures, type Features } from './features.ts';

/** Settings of a host that runs reports, and counts audiences. */
export const querySettings = defineSettings({
  ...reportsUrlSettings,
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
  REPORT_THREADS: setting.integer({
    default: 0,
    max: 64,
    unit: 'threads',
    doc: 'Threads that count the events of large funnels and first-time retentions. One report at a time has them; those of the same moment run in ClickHouse alone. 0: as many as there are cores, at most 4.',
  }),
  REPORT_EVENTS_MEMORY: setting.bytes({
    default: 2 ** 30,
    doc: 'Memory for the events that these threads count, 16 bytes each: at most 2.5 GiB, a quarter of the machine, and 40 % of the limit of a container. Counting needs up to half as much in addition. A report with more events runs in ClickHouse alone, as all do below 16 MiB. It is given back five minutes after the last report.',
  }),
  MAX_REQUESTS_PER_ACCOUNT: setting.integer({
    default: 32,
    min: 1,
    unit: 'requests',
    doc: 'Requests of one account that a process serves at a time; further ones are answered 429.',
  }),
});

/** Settings of POST /v1/messages. */
export const messageRequestSettings = defineSettings({
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
});

export const featureSettings = defineSettings({
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

/** The features that the settings switch on. */
export function featuresOf(config: SettingsOf<typeof featureSettings>): Features {
  return decideFeatures({
    segments: config.FEATURE_SEGMENTS,
    analytics: config.FEATURE_ANALYTICS,
    ingest: config.FEATURE_INGEST,
    asyncExports: config.FEATURE_ASYNC_EXPORTS,
    campaigns: config.FEATURE_CAMPAIGNS,
    campaignRecurrence: config.FEATURE_CAMPAIGN_RECURRENCE,
    campaignApproval: config.FEATURE_CAMPAIGN_APPROVAL,
    transactional: config.FEATURE_TRANSACTIONAL,
  });
}
