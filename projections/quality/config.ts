import { sinkSettings } from '../../platform/settings-common.ts';
import type { SettingsOf } from '../../platform/settings.ts';

export const settings = sinkSettings;

export type QualityConfig = SettingsOf<typeof settings>;
