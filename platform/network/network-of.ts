import { ipv6Groups } from './ipv6-groups.ts';

/**
 * The network of a client: an IPv4 /24 or an IPv6 /56, which is what one customer of a provider
 * can choose addresses from. IPv4 in IPv6 counts as IPv4.
 */
export function networkOf(ip: string): string {
  if (!ip.includes(':')) return ip === '' ? '' : ipv4Network(ip.split('.').map(Number));
  const [a = 0, b = 0, c = 0, d = 0, ...rest] = ipv6Groups(ip.split('%')[0] ?? '');
  const [e = 0, f = 0, high = 0, low = 0] = rest;
  if ((a | b | c | d | e) === 0 && f === 0xffff)
    return ipv4Network([high >> 8, high & 255, low >> 8]);
  const network = [a, b, c, d & 0xff00].map((group) => group.toString(16));
  return `${network.join(':')}::/56`;
}

function ipv4Network([a = 0, b = 0, c = 0]: readonly number[]): string {
  return `${a}.${b}.${c}.0/24`;
}
