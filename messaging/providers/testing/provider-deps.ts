import { createLog } from '../../../platform/log.ts';
import { AddressRules } from '../../../platform/outbound/address-rules.ts';
import { AllowedHosts } from '../../../platform/outbound/allowed-hosts.ts';
import { LOCAL } from '../../../platform/outbound/receivers.ts';
import type { ProviderDeps } from '../opening.ts';
import type { ProviderMessage, RenderedContent } from '../provider.ts';

/** Receivers of tests listen on loopback, which the guard refuses unless it is allowed. */
export function providerDeps(
  options: { allow?: string[]; now?: () => number; rules?: AddressRules } = {},
): ProviderDeps {
  const { allow = ['127.0.0.1', 'provider.example'], now = () => 1_763_800_000_000 } = options;
  const { rules = new AddressRules() } = options;
  return {
    guard: { allowed: new AllowedHosts(allow), rules, resolve: LOCAL },
    database: { query: () => Promise.reject(new Error('no database')) } as never,
    log: createLog({ part: 'test', level: 'silent' }),
    now,
    random: () => 0,
  };
}

/** Rules for which loopback is the internet: receivers stand for servers outside. */
export function loopbackIsOutside(): AddressRules {
  const rules = new AddressRules({ ports: 'any' });
  rules.forbidden = () => undefined;
  return rules;
}

const EMPTY: RenderedContent = { subject: '', title: '', text: '', html: '', url: '', data: {} };

/** A message of a campaign. */
export function messageTo(
  to: ProviderMessage['to'],
  content: Partial<RenderedContent> = { text: 'سلام نرگس' },
): ProviderMessage {
  return {
    messageId: 'c7.12.0123456789abcdef0123456789abcdef',
    to,
    content: { ...EMPTY, ...content },
    expiresAt: 1_763_900_000_000,
  };
}
