import type { Channel } from '../../events/channels/channel-change.ts';
import { openApns, parseApnsConfig } from './apns/apns.ts';
import { openBale, parseBaleConfig } from './bale/bale.ts';
import { openEitaa, parseEitaaConfig } from './eitaa/eitaa.ts';
import { openFcm, parseFcmConfig } from './fcm/fcm.ts';
import { openInApp, parseInAppConfig } from './inapp/inapp.ts';
import { openKavenegar, parseKavenegarConfig } from './kavenegar/kavenegar.ts';
import type { Opening } from './opening.ts';
import type { Provider } from './provider.ts';
import { openRubika, parseRubikaConfig } from './rubika/rubika.ts';
import { parseSmppConfig } from './smpp/config.ts';
import { openSmpp } from './smpp/smpp.ts';
import { parseSmtpConfig } from './smtp/config.ts';
import { openSmtp } from './smtp/smtp.ts';
import { openWebPush, parseWebPushConfig } from './webpush/webpush.ts';

interface ProviderKind<Config> {
  /** The channels that it can serve. */
  channels: readonly Channel[];
  needsSecret: boolean;
  /** Reads a configuration as an operator enters it. Throws an Error with a sentence. */
  parseConfig: (json: unknown) => Config;
  /** Throws an Error with a sentence when the secret cannot be read. Connects when it sends. */
  open: (config: Config, opening: Opening) => Provider;
}

/** A provider, for code that knows none of them. */
export interface RegisteredProvider {
  channels: readonly Channel[];
  needsSecret: boolean;
  parseConfig: (json: unknown) => unknown;
  /** Parses the configuration again, and opens it. */
  open: (json: unknown, opening: Opening) => Provider;
}

/** Hides the type of the configuration, which open and parseConfig share. */
function provider<Config>({ open, ...kind }: ProviderKind<Config>): RegisteredProvider {
  return { ...kind, open: (json, opening) => open(kind.parseConfig(json), opening) };
}

/** Every provider by the name that `admin channel set --provider` takes. */
export const PROVIDERS: Readonly<Partial<Record<string, RegisteredProvider>>> = {
  smtp: provider({
    channels: ['email'],
    // A relay inside may ask for no password.
    needsSecret: false,
    parseConfig: parseSmtpConfig,
    open: openSmtp,
  }),
  fcm: provider({
    channels: ['push'],
    needsSecret: true,
    parseConfig: parseFcmConfig,
    open: openFcm,
  }),
  apns: provider({
    channels: ['push'],
    needsSecret: true,
    parseConfig: parseApnsConfig,
    open: openApns,
  }),
  webpush: provider({
    channels: ['web'],
    needsSecret: true,
    parseConfig: parseWebPushConfig,
    open: openWebPush,
  }),
  inapp: provider({
    channels: ['inapp'],
    needsSecret: false,
    parseConfig: parseInAppConfig,
    open: openInApp,
  }),
  kavenegar: provider({
    channels: ['sms'],
    needsSecret: true,
    parseConfig: parseKavenegarConfig,
    open: openKavenegar,
  }),
  smpp: provider({
    channels: ['sms'],
    needsSecret: true,
    parseConfig: parseSmppConfig,
    open: openSmpp,
  }),
  bale: provider({
    channels: ['bale'],
    needsSecret: true,
    parseConfig: parseBaleConfig,
    open: openBale,
  }),
  eitaa: provider({
    channels: ['eitaa'],
    needsSecret: true,
    parseConfig: parseEitaaConfig,
    open: openEitaa,
  }),
  rubika: provider({
    channels: ['rubika'],
    needsSecret: true,
    parseConfig: parseRubikaConfig,
    open: openRubika,
  }),
};

/** Opens a configured sender. Throws an Error with a sentence when it cannot be. */
export function openProvider({
  provider: name,
  config,
  ...opening
}: Opening & { provider: string; config: unknown }): Provider {
  const found = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  if (!found?.channels.includes(opening.channel))
    throw new Error(`the channel ${opening.channel} has no provider ${name}`);
  if (found.needsSecret && opening.secret === '')
    throw new Error(`the provider ${name} needs a secret`);
  return found.open(config, opening);
}
