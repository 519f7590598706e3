import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings } from '../../platform/settings.ts';

export const shortLinkSettings = defineSettings({
  SHORT_LINK_BASE: setting.url({
    default: '',
    protocols: ['http:', 'https:'],
    doc: 'Public address of the ingest host for short links, without /s/; links in SMS are rewritten to it. Empty: links are not rewritten.',
  }),
});
