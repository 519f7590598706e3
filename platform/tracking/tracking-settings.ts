import { randomBytes } from 'node:crypto';
import { parseTrackingKeys, withNewestKey } from '../../events/channels/tracking-keys.ts';
import type { TrackingTokens } from '../../events/channels/tracking-token.ts';
import * as setting from '../setting-kinds.ts';
import { defineSettings, type Setting } from '../settings.ts';

const trackingKeys: Setting<TrackingTokens | undefined> = {
  parse: parseTrackingKeys,
  fallback: undefined,
  fallbackText: '',
  unit: 'id:base64 of 32 bytes, comma-separated, newest first',
  doc:
    'Keys that sign the tokens of /e/ pages and of bounce addresses: the first one signs, all of them verify. ' +
    'To rotate, put a new key in front and keep the old ones for 400 days. Empty: these routes are not served. `./ravand up` makes one for its stack; `./ravand admin tracking rotate` makes the next value.',
  secret: true,
};

/** `config.TRACKING_KEYS` is the TrackingTokens; undefined when the variable is empty. */
export const trackingSettings = defineSettings({ TRACKING_KEYS: trackingKeys });

/** The address that outsiders reach the ingest host at. */
export const trackBaseSettings = defineSettings({
  EMAIL_TRACK_BASE: setting.url({
    default: '',
    protocols: ['http:', 'https:'],
    doc: 'Public address of the ingest host: webhook_url of connections, and the links to unsubscribe and to preferences in e-mails, begin with it. Empty: webhook_url is empty, and no marketing e-mail is sent.',
  }),
});

/** TRACKING_KEYS with a new key in front. Throws an Error with the expected form. */
export function rotatedTrackingKeys(keys: string): string {
  return withNewestKey(keys, randomBytes(32));
}
