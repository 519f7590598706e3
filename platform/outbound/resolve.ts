import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { delay } from '../backoff.ts';

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** All addresses of a host name. Rejects with the resolver's error when there is none. */
export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

/** Timeout of a DNS query, ms; it is sent twice. */
const TIMEOUT = 2500;
/** How long the addresses of one family wait for the other's, ms. */
const OTHER_FAMILY = 300;

/** The DNS queries in use. */
export type Asking = Pick<Resolver, 'resolve4' | 'resolve6'>;

/**
 * Queries name servers directly: getaddrinfo has four threads per process, and slow names of one
 * customer would delay all others. Names without a dot, and those that `isLocal` knows, go through
 * the system, which reads the hosts file.
 */
export function systemResolve(
  isLocal: (host: string) => boolean,
  servers: Asking = new Resolver({ timeout: TIMEOUT, tries: 2 }),
): Resolve {
  return async (host) => {
    const family = isIP(host);
    if (family !== 0) return [{ address: host, family: family === 6 ? 6 : 4 }];
    if (host.replace(/\.$/, '').includes('.') && !isLocal(host)) return ask(servers, host);
    const found = await lookup(host, { all: true });
    return found.map((one) => ({ address: one.address, family: one.family === 6 ? 6 : 4 }));
  };
}

async function ask(servers: Asking, host: string): Promise<ResolvedAddress[]> {
  const found: ResolvedAddress[] = [];
  const note = (family: 4 | 6) => (addresses: string[]) =>
    void found.push(...addresses.map((address) => ({ address, family })));
  const answers = [
    servers.resolve4(host).then(note(4)),
    servers.resolve6(host).then(note(6)),
  ] as const;
  const one = Promise.any(answers).then(
    () => delay(OTHER_FAMILY),
    () => undefined,
  );
  await Promise.race([Promise.allSettled(answers), one]);
  // Later addresses are not connected to, because the guard has not checked them.
  if (found.length > 0) return [...found];
  await answers[0];
  throw new Error(`${host} has no address`);
}
