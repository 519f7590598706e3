import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { performance } from 'node:perf_hooks';
import { addressRanges, type AddressRanges } from '../network/address-ranges.ts';
import { ipv6Groups } from '../network/ipv6-groups.ts';
import { embeddedIpv4, forbiddenAddress } from './address-class.ts';
import { nat64Prefix, type Nat64Prefix } from './nat64.ts';

export interface AddressRulesOptions {
  /** Addresses and CIDR ranges that the operator denies. */
  denied?: readonly string[];
  /** NAT64 prefixes of the operator's network, besides 64:ff9b::/96. */
  nat64?: readonly string[];
  ports?: readonly number[] | 'any';
  /** All addresses of this machine. */
  ownAddresses?: () => readonly string[];
  /** ms, monotonic */
  now?: () => number;
}

const WEB_PORTS = [80, 443];
/** How long the addresses of this machine are believed, ms. */
const OWN_ADDRESSES_MS = 5000;

/**
 * Where requests may go besides the hosts that the operator allows: to addresses of the public
 * internet that are neither this machine's nor denied, at the ports of the web.
 */
export class AddressRules {
  readonly #denied: AddressRanges;
  readonly #nat64: readonly Nat64Prefix[];
  readonly #ports: ReadonlySet<number> | 'any';
  readonly #readOwn: () => readonly string[];
  readonly #now: () => number;
  #own: AddressRanges = addressRanges([]);
  #ownReadAt = -Infinity;

  constructor(options: AddressRulesOptions = {}) {
    const { denied = [], nat64 = [], ports = WEB_PORTS } = options;
    this.#denied = addressRanges(denied);
    this.#nat64 = nat64.map(nat64Prefix);
    this.#ports = ports === 'any' ? 'any' : new Set(ports);
    this.#readOwn = options.ownAddresses ?? interfaceAddresses;
    this.#now = options.now ?? (() => performance.now());
  }

  allowsPort(port: number): boolean {
    return this.#ports === 'any' || this.#ports.has(port);
  }

  /**
   * What kind of address this is when requests must not go there; undefined when they may. An IPv6
   * address that a gateway translates to IPv4 counts as that IPv4 address.
   */
  forbidden(text: string): string | undefined {
    const address = text.split('%', 1)[0] ?? '';
    const groups = isIPv6(address) ? ipv6Groups(address) : undefined;
    const prefix = groups && this.#nat64.find((one) => one.contains(groups));
    if (groups && prefix) return this.forbidden(prefix.ipv4Of(groups));
    const ipv4 = groups && embeddedIpv4(groups);
    if (ipv4 !== undefined) return this.forbidden(ipv4);
    const kind = forbiddenAddress(address);
    if (kind !== undefined) return kind;
    if (this.#denied.contains(address)) return 'an address that the operator denies';
    return this.#ownAddresses().contains(address) ? 'an address of this installation' : undefined;
  }

  #ownAddresses(): AddressRanges {
    if (this.#now() - this.#ownReadAt >= OWN_ADDRESSES_MS) {
      this.#own = addressRanges(this.#readOwn());
      this.#ownReadAt = this.#now();
    }
    return this.#own;
  }
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address }) => address.split('%', 1)[0] ?? ''),
  );
}
