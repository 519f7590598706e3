import * as setting from '../../platform/setting-kinds.ts';
import { sinkSettings } from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({
  ...sinkSettings,
  CATALOGUE_INTERVAL: setting.duration({
    default: 5000,
    doc: 'Minimum interval between two writes of the event catalogue, per partition.',
  }),
});

export type CatalogueConfig = SettingsOf<typeof settings>;
