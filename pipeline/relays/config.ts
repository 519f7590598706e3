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
    doc: 'Successful deliveries kept in the log of each relay; older ones are only counted by hour. At most ten a second are logged.',
  }),
  RELAY_QUEUE_ROWS: setting.integer({
    default: 200_000,
    min: 2,
    max: 100_000_000,
    doc: 'Pending deliveries of an account, and as many dead ones; a relay has at most half. Further deliveries are dead, and further dead ones only counted.',
  }),
  RELAY_QUEUE_BYTES: setting.bytes({
    default: 2 ** 30,
    min: 2,
    doc: 'Bodies of the pending deliveries of an account, and as much of dead ones; a relay has at most half.',
  }),
  RELAY_QUEUE_RETENTION: setting.duration({
    default: 3 * 86_400_000,
    min: 60_000,
    doc: 'How long a delivery may be pending, whatever it waits for; then it is dead.',
  }),
  RELAY_DISABLE_AFTER: setting.duration({
    default: 7 * 86_400_000,
    min: 0,
    doc: 'A relay is disabled, with an audit line, when its endpoint has only failed for this long; 0 never disables one.',
  }),
  RELAY_LOG_RETENTION: setting.duration({
    default: 30 * 86_400_000,
    min: 60_000,
    doc: 'How long failed deliveries are kept with their bodies, and can be retried.',
  }),
});

export type RelaysConfig = SettingsOf<typeof settings>;
