import { featureSettings, messageRequestSettings, querySettings } from '../account-api/settings.ts';
import { shortLinkSettings } from '../messaging/links/short-link-settings.ts';
import { outboundSettings } from '../platform/outbound/outbound-settings.ts';
import { trustedProxySettings } from '../platform/network/client-address.ts';
import { sealingSettings } from '../platform/sealing-settings.ts';
import {
  clickhouseSettings,
  kafkaSettings,
  postgresSettings,
  processSettings,
  redisSettings,
} from '../platform/settings-common.ts';
import * as setting from '../platform/setting-kinds.ts';
import { trackBaseSettings, trackingSettings } from '../platform/tracking/tracking-settings.ts';
import { defineSettings, type Setting, type SettingsOf } from '../platform/settings.ts';
import { isPrivateHost } from './http/private-host.ts';

const controlAddress = setting.address({
  default: { host: '127.0.0.1', port: 0 },
  doc: 'Listener of the control plane, used only by the panel in the same process; never public: loopback and private addresses only. Port 0: any free port.',
});

/** What `./ravand up` builds, and the panel's listener serves. */
export const panelSettings = defineSettings({
  PANEL_DIR: setting.text({
    default: '.ravand/panel',
    doc: 'Folder of the built panel, relative to the working directory; `./ravand up` builds it there.',
    unit: 'path',
  }),
});

/** Settings of the control plane and the panel. */
export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...clickhouseSettings,
  ...querySettings,
  ...messageRequestSettings,
  ...featureSettings,
  ...outboundSettings,
  ...shortLinkSettings,
  ...trackingSettings,
  ...postgresSettings,
  ...redisSettings,
  ...sealingSettings,
  ...trustedProxySettings,
  CONTROL_ADDR: {
    ...controlAddress,
    parse: (text: string) => {
      const address = controlAddress.parse(text);
      if (address && !isPrivateHost(address.host))
        throw new Error(
          'localhost:port, or a loopback or private address with its port: this listener is never public',
        );
      return address;
    },
  } satisfies Setting<setting.Address | undefined>,
  PANEL_ADDR: setting.address({
    default: undefined,
    doc: 'Listener of the panel, host:port: sign-in, and the only access to the control plane. Empty: not served.',
  }),
  PANEL_URL: setting.url({
    default: '',
    protocols: ['http:', 'https:'],
    doc: 'Address of the panel as browsers see it. With https:// the session cookie is Secure and named __Host-service_session, and TRUSTED_PROXIES must name what terminates TLS. Empty: plain http, for one machine.',
  }),
  ...panelSettings,
  INGEST_URL: setting.url({
    default: '',
    protocols: ['http:', 'https:'],
    doc: 'Address of the ingest host as clients see it, for the examples that the panel shows. Empty: EMAIL_TRACK_BASE.',
  }),
  PANEL_SESSION_LIFETIME: setting.duration({
    default: 12 * 3_600_000,
    min: 60_000,
    doc: 'Lifetime of a session, used or not.',
  }),
  PANEL_SESSION_IDLE: setting.duration({
    default: 3_600_000,
    min: 60_000,
    doc: 'A session ends after this time without use.',
  }),
  ...trackBaseSettings,
});

export type Config = SettingsOf<typeof settings>;

/** Whether browsers reach the panel over TLS, which ends before this process. */
export function isBehindTls({ PANEL_URL }: Pick<Config, 'PANEL_URL'>): boolean {
  return URL.parse(PANEL_URL)?.protocol === 'https:';
}

/**
 * What is wrong with the settings together. Behind a proxy that is not trusted all members would
 * have its address: one who guesses passwords would block all others, and no allowed address of an
 * account would match.
 */
export function problemsOf(config: Config): string[] {
  return isBehindTls(config) && config.TRUSTED_PROXIES.length === 0
    ? [
        'TRUSTED_PROXIES is empty although PANEL_URL is https://: set it to the addresses of the proxy that terminates TLS, ' +
          'so that each member has an address of their own, or to `none` when what terminates TLS keeps the address of the connection',
      ]
    : [];
}
