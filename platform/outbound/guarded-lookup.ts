import { Socket, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressRules } from './address-rules.ts';
import { AddressRefused, refuseForbidden } from './guard.ts';
import type { Resolve } from './resolve.ts';

/**
 * The DNS lookup of a connection: resolves a name and refuses it if any address is forbidden, as
 * node:net picks one. No other lookup of the connection can answer differently.
 */
export function guardedLookup({
  resolve,
  rules,
}: {
  resolve: Resolve;
  /** Undefined: the operator allows the host whatever its addresses are. */
  rules: AddressRules | undefined;
}): LookupFunction {
  return (host, { all }, done) => {
    resolve(host).then(
      (found) => {
        try {
          if (rules) for (const { address } of found) refuseForbidden(host, address, rules);
        } catch (error) {
          return done(error as Error, []);
        }
        const [first] = found;
        if (!first) return done(new Error(`${host} has no address`), []);
        return all === true ? done(null, found) : done(null, first.address, first.family);
      },
      (error: unknown) => done(error as Error, []),
    );
  };
}

/**
 * The last check, of the address that the system connected to. Buffered bytes are not sent.
 */
export function refuseConnected(socket: Duplex, host: string, rules: AddressRules): void {
  socket.once('connect', () => {
    try {
      const address = (socket instanceof Socket ? socket.remoteAddress : undefined) ?? '';
      refuseForbidden(host, address, rules);
    } catch (error) {
      socket.destroy(error instanceof AddressRefused ? error : new AddressRefused(String(error)));
    }
  });
}
