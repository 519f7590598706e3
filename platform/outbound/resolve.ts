import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { delay } from '../backoff.ts';

export interface ResolvedAddress {
  address: string;
  family: 4 | 6;
}

/** All addresses of a host name; rejects with the resolver's error when there is none. */
export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

/** How long a name server may take, ms; it is asked twice. */
const TIMEOUT = 2500;
/** The addresses of one family do not wait longer than this for those of the other, ms. */
const OTHER_FAMILY = 300;

/** The two questions that name servers are asked. */
export type Asking = Pick<Resolver, 'resolve4' | 'resolve6'>;

/**
 * Full names are asked of the name servers directly: getaddrinfo has four threads for the whole
 * process, and slow names of one customer would hold up everybody's. Names without a dot and those
 * that `isLocal` knows go through the system, which reads the hosts file.
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
  // What comes later is not connected to: nobody has looked at it.
  if (found.length > 0) return [...found];
  await answers[0];
  throw new Error(`${host} has no address`);
}
