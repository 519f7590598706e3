import { postgresSettings, sinkSettings } from '../../platform/settings-common.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

export const settings = defineSettings({ ...sinkSettings, ...postgresSettings });

export type MessagesConfig = SettingsOf<typeof settings>;
