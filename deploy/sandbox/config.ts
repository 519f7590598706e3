import { processSettings } from '../../platform/settings-common.ts';
import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings, type SettingsOf } from '../../platform/settings.ts';

/** Where the sandbox listens; the demo account's senders point there. */
export const sandboxAddresses = defineSettings({
  SANDBOX_ADDR: setting.address({
    default: { host: '127.0.0.1', port: 8083 },
    doc: 'Listener of the sandbox: its page, the list of messages, and the APIs of push services, Kavenegar and messengers. `./ravand up` chooses a free port.',
  }),
  SANDBOX_SMTP_ADDR: setting.address({
    default: { host: '127.0.0.1', port: 2525 },
    doc: 'Listener of the sandbox for SMTP. `./ravand up` chooses a free port.',
  }),
});

export const settings = defineSettings({ ...processSettings, ...sandboxAddresses });

export type SandboxConfig = SettingsOf<typeof settings>;
