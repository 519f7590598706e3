import * as setting from '../../platform/setting-kinds.ts';
import { postgresSettings, sinkSettings } from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...sinkSettings,
  ...postgresSettings,
  IDENTITIES_INTERVAL: setting.duration({
    default: 200,
    doc: 'Least time between the starts of two batches of one partition.',
  }),
});

export type IdentitiesConfig = SettingsOf<typeof settings>;
