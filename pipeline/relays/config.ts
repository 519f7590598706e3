import { outboundSettings } from '../../platform/outbound/outbound-settings.ts';
import { sealingSettings } from '../../platform/sealing-settings.ts';
import { consumerProcessSettings, postgresSettings } from '../../platform/settings-common.ts';
import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...consumerProcessSettings,
  ...postgresSettings,
  ...sealingSettings,
  ...outboundSettings,
  RELAY_LOG_SUCCESSES: setting.integer({
    default: 1000,
    min: 1,
    max: 1_000_000,
    doc: 'Successful deliveries kept in the log of each relay; older ones are only counted by hour.',
  }),
  RELAY_LOG_RETENTION: setting.duration({
    default: 30 * 86_400_000,
    min: 60_000,
    doc: 'How long failed deliveries are kept with their bodies, and can be retried.',
  }),
});

export type RelaysConfig = SettingsOf<typeof settings>;
