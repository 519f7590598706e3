import { CHANNELS, type Channel } from '../../events/channels/channel-change.ts';
import { RefusedChange } from '../../events/channels/fields.ts';
import { isJsonObject, type JsonObject } from '../../events/json.ts';
import type { Guard } from '../../platform/outbound/guard.ts';
import { checkAddresses } from './check-addresses.ts';
import { readLimits, withoutLimits } from './limits.ts';

/** What the store must know of a provider; messaging/providers/registry.ts has one of each. */
export interface ProviderFacts {
  channels: readonly Channel[];
  needsSecret: boolean;
  /** Throws an Error with a sentence. */
  parseConfig: (config: JsonObject) => unknown;
}

export interface SenderRequest {
  channel: string;
  provider: string;
  config: unknown;
  secret: string | undefined;
}

export interface CheckedSender {
  channel: Channel;
  provider: string;
  config: JsonObject;
}

const MAX_CONFIG_BYTES = 16 * 1024;
const MAX_SECRET_BYTES = 64 * 1024;

/**
 * Checks what an operator enters. Throws RefusedChange, which never quotes the secret nor a value
 * of the config.
 */
export function checkSender(
  request: SenderRequest,
  {
    providers,
    guard,
    hasSecret,
  }: {
    providers: Readonly<Partial<Record<string, ProviderFacts>>>;
    guard: Guard;
    /** The sender that is replaced is of the same provider and has one. */
    hasSecret: boolean;
  },
): CheckedSender {
  const channel = requireChannel(request.channel);
  const provider = providers[request.provider];
  if (!Object.hasOwn(providers, request.provider) || !provider)
    throw new RefusedChange(
      `there is no provider ${request.provider}: there are ${Object.keys(providers).join(', ')}`,
    );
  if (!provider.channels.includes(channel))
    throw new RefusedChange(
      `${request.provider} does not send on the channel ${channel}, but on ${provider.channels.join(', ')}`,
    );
  const { config, secret } = request;
  if (!isJsonObject(config)) throw new RefusedChange('the config is not a JSON object');
  if (Buffer.byteLength(JSON.stringify(config)) > MAX_CONFIG_BYTES)
    throw new RefusedChange(`the config is longer than ${MAX_CONFIG_BYTES} bytes`);
  if (secret !== undefined && Buffer.byteLength(secret) > MAX_SECRET_BYTES)
    throw new RefusedChange(`the secret is longer than ${MAX_SECRET_BYTES} bytes`);
  if (secret === '') throw new RefusedChange('the secret is empty');
  if (provider.needsSecret && secret === undefined && !hasSecret)
    throw new RefusedChange(`${request.provider} needs a secret`);
  readLimits(config, request.provider);
  try {
    provider.parseConfig(withoutLimits(config));
  } catch (error) {
    throw new RefusedChange((error as Error).message);
  }
  checkAddresses(config, guard);
  return { channel, provider: request.provider, config };
}

/** Throws RefusedChange. */
export function requireChannel(text: string): Channel {
  const channel = CHANNELS.find((one) => one === text);
  if (!channel)
    throw new RefusedChange(`there is no channel ${text}: there are ${CHANNELS.join(', ')}`);
  return channel;
}
