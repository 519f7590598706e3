import { clickhouseSettings, kafkaSettings, postgresSettings, processSettings, redisSettings } from '../platform/settings-common.ts';
import * as setting from '../platform/setting-kinds.ts';
import { defineSettings, parseSettings, type SettingsOf } from '../platform/settings.ts';
import { isAddressRange } from './auth/address-ranges.ts';

const ranges = setting.list({
  default: [],
  doc: 'Addresses and CIDR ranges of proxies in front of the public listeners, comma-separated: only their X-Forwarded-For is believed.',
});

/** Settings of the management host. */
export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...clickhouseSettings,
  ...postgresSettings,
  ...redisSettings,
  PUBLIC_API_ADDR: setting.address({
    default: undefined,
    doc: 'Listener of the management host, host:port. Empty: it is not served at all, and connections are refused.',
  }),
  PUBLIC_API_BUDGET_PER_MINUTE: setting.integer({
    default: 600,
    min: 1,
    unit: 'units',
    doc: 'Request budget of each management key in a calendar minute (management 8.1).',
  }),
  TRUSTED_PROXIES: {
    ...ranges,
    parse: (text: string) => {
      const texts = setting.splitList(text);
      if (!texts.every(isAddressRange)) throw new Error('addresses or CIDR ranges, for example 10.0.0.0/8,::1');
      return texts;
    },
  },
  EXPORT_DIR: setting.text({
    default: '.ravand/exports',
    doc: 'Folder of the files of exports; a relative one lies under the working directory. Processes that share the work share the folder.',
    unit: 'path',
  }),
  EXPORT_S3_URL: setting.text({
    default: '',
    doc: 'S3-compatible storage of the files of exports instead of EXPORT_DIR, as https://host/bucket or https://host/bucket/prefix. Empty: the folder.',
    unit: 'URL',
  }),
  EXPORT_S3_REGION: setting.text({ default: 'us-east-1', doc: 'Region that requests to EXPORT_S3_URL are signed for.' }),
  EXPORT_S3_ACCESS_KEY: setting.text({ default: '', doc: 'Access key of EXPORT_S3_URL.' }),
  EXPORT_S3_SECRET_KEY: setting.text({ default: '', doc: 'Secret key of EXPORT_S3_URL.', secret: true }),
  FEATURE_SEGMENTS: setting.flag({ default: true, doc: 'Serve the /v1/segments routes.' }),
  FEATURE_ANALYTICS: setting.flag({ default: true, doc: 'Serve the report routes.' }),
  FEATURE_INGEST: setting.flag({ default: true, doc: 'Serve POST /v1/events.' }),
  FEATURE_ASYNC_EXPORTS: setting.flag({ default: true, doc: 'Serve the export routes.' }),
});

export type Config = SettingsOf<typeof settings>;

/** Reads the environment; throws SettingsError with all problems together. */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  return parseSettings(settings, env);
}
