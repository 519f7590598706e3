import { archiveSettings } from '../../ops/archive/archive-store.ts';
import { shortLinkSettings } from '../../messaging/links/short-link-settings.ts';
import { sealingSettings } from '../../platform/sealing-settings.ts';
import { trackingSettings } from '../../platform/tracking/tracking-settings.ts';
import { topicSettings } from '../../platform/settings-common.ts';
import { settings as local } from '../local/config.ts';
import { serviceSettings, type NamedSettings } from '../service-settings.ts';

/** Everything that reads settings: the commands, and each service of the topology. */
export async function allSettings(): Promise<NamedSettings[]> {
  return [
    { reader: './ravand', table: local },
    {
      reader: './ravand admin',
      table: { ...sealingSettings, ...trackingSettings, ...shortLinkSettings },
    },
    { reader: './ravand archive', table: archiveSettings },
    { reader: 'topics', table: topicSettings },
    ...(await serviceSettings()),
  ];
}
