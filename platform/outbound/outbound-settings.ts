import { isAddressRange } from '../network/address-ranges.ts';
import * as setting from '../setting-kinds.ts';
import { defineSettings, type Setting, type SettingsOf } from '../settings.ts';
import { AddressRules } from './address-rules.ts';
import { allowedHosts } from './allowed-hosts.ts';
import type { OutboundGuard } from './guard.ts';
import { nat64Prefix } from './nat64.ts';
import { systemResolve } from './resolve.ts';

function checkedList(options: {
  doc: string;
  check: (entry: string) => void;
}): Setting<readonly string[]> {
  return {
    ...setting.list({ default: [], doc: options.doc }),
    parse: (text) => {
      const entries = setting.splitList(text);
      for (const entry of entries) options.check(entry);
      return entries;
    },
  };
}

const ports: Setting<readonly number[] | 'any'> = {
  ...setting.list({
    default: ['80', '443'],
    doc: 'Ports that requests to URLs of customers may use, comma-separated; `any`: every port. Hosts of OUTBOUND_ALLOW_HOSTS are exempt.',
  }),
  fallback: [80, 443],
  parse: (text) => {
    if (text === 'any') return 'any';
    const entries = setting.splitList(text).map(Number);
    if (!entries.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535))
      throw new Error('ports from 1 to 65535, comma-separated, for example 80,443,8443; or any');
    return entries;
  },
};

/** Where requests to the URLs of customers may go. */
export const outboundSettings = defineSettings({
  OUTBOUND_ALLOW_HOSTS: allowedHosts({
    doc: 'Hosts that relays and the senders of messages may reach although the address guard refuses their addresses (private, loopback, link-local …) or their ports, as written in the URL of the relay or in the configuration of the sender.',
  }),
  RELAY_ALLOW_HOSTS: allowedHosts({
    doc: 'The earlier name of OUTBOUND_ALLOW_HOSTS; hosts that either of them names are allowed.',
  }),
  RELAY_ALLOW_PORTS: ports,
  RELAY_DENY_ADDRESSES: checkedList({
    doc: 'Addresses and CIDR ranges that nothing is sent to, comma-separated, for example the public addresses of this installation behind NAT. The addresses of the machine itself are always refused.',
    check: (entry) => {
      if (!isAddressRange(entry))
        throw new Error('addresses or ranges, comma-separated, for example 203.0.113.0/24');
    },
  }),
  RELAY_NAT64_PREFIXES: checkedList({
    doc: 'NAT64 prefixes of the network besides 64:ff9b::/96, comma-separated: an address under one counts as the IPv4 address in it.',
    check: (entry) => {
      nat64Prefix(entry);
    },
  }),
});

/** What guards connections to hosts that customers name. */
export function outboundGuard(config: SettingsOf<typeof outboundSettings>): OutboundGuard {
  const allowed = config.OUTBOUND_ALLOW_HOSTS.and(config.RELAY_ALLOW_HOSTS);
  return {
    allowed,
    rules: addressRules(config),
    resolve: systemResolve((host) => allowed.names(host)),
  };
}

export function addressRules(config: SettingsOf<typeof outboundSettings>): AddressRules {
  return new AddressRules({
    ports: config.RELAY_ALLOW_PORTS,
    denied: config.RELAY_DENY_ADDRESSES,
    nat64: config.RELAY_NAT64_PREFIXES,
  });
}
