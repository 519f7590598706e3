import { isAddressRange } from '../network/address-ranges.ts';
import * as setting from '../setting-kinds.ts';
import { defineSettings, type Setting, type SettingsOf } from '../settings.ts';
import { AddressRules } from './address-rules.ts';
import { allowedHosts } from './allowed-hosts.ts';
import { nat64Prefix } from './nat64.ts';

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
    doc: 'Ports that relays may deliver to, comma-separated; `any`: every port. Hosts of RELAY_ALLOW_HOSTS are exempt.',
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
  RELAY_ALLOW_HOSTS: allowedHosts({
    doc: 'Hosts that relays may deliver to although the address guard refuses their addresses (private, loopback, link-local …), as written in the URL of the relay.',
  }),
  RELAY_ALLOW_PORTS: ports,
  RELAY_DENY_ADDRESSES: checkedList({
    doc: 'Addresses and CIDR ranges that relays may not deliver to, comma-separated, for example the public addresses of this installation behind NAT. The addresses of the machine itself are always refused.',
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

export function addressRules(config: SettingsOf<typeof outboundSettings>): AddressRules {
  return new AddressRules({
    ports: config.RELAY_ALLOW_PORTS,
    denied: config.RELAY_DENY_ADDRESSES,
    nat64: config.RELAY_NAT64_PREFIXES,
  });
}
