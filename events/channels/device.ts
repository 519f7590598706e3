import { fitsBytes, truncateBytes } from '../bytes.ts';
import type { JsonObject } from '../json.ts';
import { channelChange, type ChannelChange } from './channel-change.ts';
import { optionalId, optionalText, RefusedChange, withinBytes } from './fields.ts';

const MAX_TOKEN_BYTES = 4096;

/** Platforms, and the push service that serves one unless the device says otherwise. */
const PROVIDER_OF: Readonly<Record<string, string>> = {
  android: 'fcm',
  ios: 'apns',
  web: 'fcm',
  huawei: 'hms',
};
const PROVIDERS = new Set(['fcm', 'apns', 'hms']);

/** Bytes kept of what only describes a device; the same as of the context (ingest 2.2). */
const DESCRIPTION = { app_version: 64, os_version: 32, model: 128, locale: 32, timezone: 64 };

export interface DeviceWarning {
  code: 'truncated' | 'unknown_push_provider';
  field: string;
}

export interface DeviceRegistration {
  change: ChannelChange;
  /** What was stored differently from what was sent. */
  warnings: DeviceWarning[];
}

/**
 * Reads the body of POST /v1/devices. Throws RefusedChange with the text for the client, and
 * MalformedEnvelope for a field of another JSON type.
 */
export function readDevice(body: JsonObject): DeviceRegistration {
  const deviceId = optionalId(body, 'device_id');
  const userId = optionalId(body, 'user_id');
  const anonymousId = optionalId(body, 'anonymous_id');
  const platform = optionalText(body, 'platform');
  const token = withinBytes(optionalText(body, 'push_token'), {
    field: 'push_token',
    bytes: MAX_TOKEN_BYTES,
  });
  const sentProvider = optionalText(body, 'push_provider');
  const warnings: DeviceWarning[] = [];
  const described = (field: keyof typeof DESCRIPTION): string => {
    const text = optionalText(body, field);
    if (!fitsBytes(text, DESCRIPTION[field])) warnings.push({ code: 'truncated', field });
    return truncateBytes(text, DESCRIPTION[field]);
  };
  const description = {
    app_version: described('app_version'),
    os_version: described('os_version'),
    model: described('model'),
    locale: described('locale'),
    timezone: described('timezone'),
  };
  if (deviceId === '') throw new RefusedChange('device_id is required');
  if (userId === '' && anonymousId === '')
    throw new RefusedChange('user_id or anonymous_id is required');
  const ownProvider = Object.hasOwn(PROVIDER_OF, platform) ? PROVIDER_OF[platform] : undefined;
  if (ownProvider === undefined)
    throw new RefusedChange('platform must be android, ios, web or huawei');
  if (token === '') throw new RefusedChange('push_token is required');
  const isKnown = PROVIDERS.has(sentProvider);
  if (sentProvider !== '' && !isKnown)
    warnings.push({ code: 'unknown_push_provider', field: 'push_provider' });
  const device = {
    platform,
    push_token: token,
    push_provider: isKnown ? sentProvider : ownProvider,
    ...description,
  };
  const change = channelChange({
    ...{ kind: 'device_registered', channel: 'push', device },
    ...{ user_id: userId, anonymous_id: anonymousId, address_id: deviceId },
  });
  return { change, warnings };
}

/** Reads the body of POST /v1/devices/unregister. Throws as `readDevice`. */
export function readUnregister(body: JsonObject): ChannelChange {
  const deviceId = optionalId(body, 'device_id');
  if (deviceId === '') throw new RefusedChange('device_id is required');
  return channelChange({ kind: 'device_unregistered', channel: 'push', address_id: deviceId });
}
