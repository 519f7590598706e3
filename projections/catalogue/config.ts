import * as setting from '../../platform/setting-kinds.ts';
import { postgresSettings, sinkSettings } from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...sinkSettings,
  ...postgresSettings,
  CATALOGUE_INTERVAL: setting.duration({
    default: 5000,
    doc: 'Minimum interval between two writes of the event catalogue, per partition. A process with more than 4 partitions begins as many writes as one with 4: the time grows with them, up to 20 s.',
  }),
});

export type CatalogueConfig = SettingsOf<typeof settings>;
