import type { ProviderAnswer, Target } from './provider.ts';

/** The channel of the sender and the target do not fit: a defect of the caller. */
export function wrongTarget(provider: string, to: Target): ProviderAnswer {
  const detail = `${provider} sends nothing to a target of kind ${to.kind}`;
  return { kind: 'rejected', reason: 'rejected_by_provider', detail };
}

/** Undefined when the text has at most `max` UTF-16 units. */
export function tooLong(text: string, max: number): ProviderAnswer | undefined {
  if (text.length <= max) return undefined;
  return { kind: 'rejected', reason: 'too_large', detail: `more than ${max} characters` };
}

export function tooLarge(maxBytes: number): ProviderAnswer {
  return { kind: 'rejected', reason: 'too_large', detail: `more than ${maxBytes} bytes` };
}

/** The device has its messages from another push service than the sender serves. */
export function unsupportedService(provider: string, of: string): ProviderAnswer {
  const detail = `the device is registered with ${of}, and the sender with ${provider}`;
  return { kind: 'rejected', reason: 'unsupported_push_service', detail };
}
