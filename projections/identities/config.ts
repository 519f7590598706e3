import * as setting from '../../platform/setting-kinds.ts';
import { postgresSettings, sinkSettings } from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...sinkSettings,
  ...postgresSettings,
  IDENTITIES_INTERVAL: setting.duration({
    default: 200,
    doc: 'Least time between the starts of two batches of one partition. A process with more than 4 partitions begins as many batches as one with 4: the time grows with them, up to 1 s.',
  }),
});

export type IdentitiesConfig = SettingsOf<typeof settings>;
