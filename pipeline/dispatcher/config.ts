import { outboundSettings } from '../../platform/outbound/outbound-settings.ts';
import { sealingSettings } from '../../platform/sealing-settings.ts';
import { clickhouseSettings, consumerProcessSettings } from '../../platform/settings-common.ts';
import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';
import { trackBaseSettings, trackingSettings } from '../../platform/tracking/tracking-settings.ts';
import { shortLinkSettings } from '../../messaging/links/short-link-settings.ts';

export const settings = defineSettings({
  ...consumerProcessSettings,
  ...clickhouseSettings,
  ...sealingSettings,
  ...outboundSettings,
  ...trackingSettings,
  ...trackBaseSettings,
  ...shortLinkSettings,
  DISPATCHER_CALLS: setting.integer({
    default: 2000,
    min: 4,
    max: 50_000,
    unit: 'calls',
    doc: 'Calls of providers that one process may have open; half of them are reserved for senders that answer within 500 ms, and an account gets at most half.',
  }),
  DISPATCHER_CHUNKS: setting.integer({
    default: 128,
    min: 4,
    max: 10_000,
    unit: 'chunks',
    doc: 'Chunks of up to 500 recipients that one process sends at a time; an account gets at most half. When most are in use, accounts take turns.',
  }),
  DISPATCHER_MEMORY: setting.bytes({
    default: 48 * 2 ** 20,
    min: 2 ** 20,
    doc: 'Messages that are rendered and not sent yet, over all chunks that one process sends.',
  }),
});

export type DispatcherConfig = SettingsOf<typeof settings>;
