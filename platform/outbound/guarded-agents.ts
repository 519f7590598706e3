import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Socket, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressRules } from './address-rules.ts';
import { AddressRefused, refuseForbidden, type Guard } from './guard.ts';
import type { Resolve } from './resolve.ts';

/** The options of createConnection that matter here. */
interface ConnectionOptions {
  host?: string | null | undefined;
  port?: number | string | null | undefined;
  lookup?: LookupFunction | undefined;
}

export interface ProtocolAgents {
  'http:': HttpAgent;
  'https:': HttpsAgent;
}

export interface Agents {
  /** Reuse an idle connection if there is one. */
  kept: ProtocolAgents;
  /** Always open a new connection. */
  fresh: ProtocolAgents;
  destroy(): void;
}

/** Limits of connections that are kept open for reuse. */
const KEEP: AgentOptions = {
  keepAlive: true,
  keepAliveMsecs: 15_000,
  maxFreeSockets: 16,
  maxSockets: 64,
  timeout: 30_000,
  scheduling: 'lifo',
};

/**
 * Agents that guard every new connection. They check the addresses in the connection's own DNS
 * lookup, so that no other lookup can answer differently, and the address of the connected socket
 * again before a byte is written. They ignore proxies.
 */
export function guardedAgents(options: Guard & { resolve: Resolve }): Agents {
  const guarded = <T extends ConnectionOptions>(
    connection: T,
    connect: (connection: T) => Duplex | null | undefined,
  ): Duplex | null | undefined => {
    const host = hostOf(connection);
    const isAllowed = options.allowed.allows(host, Number(connection.port));
    const rules = isAllowed ? undefined : options.rules;
    const lookup = guardedLookup({ resolve: options.resolve, rules });
    const socket = connect({ ...connection, lookup });
    if (socket && rules) refuseConnected(socket, host, rules);
    return socket;
  };

  class GuardedHttpAgent extends HttpAgent {
    override createConnection(
      ...[connection, callback]: Parameters<HttpAgent['createConnection']>
    ) {
      return guarded(connection, (one) => super.createConnection(one, callback));
    }
  }
  class GuardedHttpsAgent extends HttpsAgent {
    override createConnection(
      ...[connection, callback]: Parameters<HttpsAgent['createConnection']>
    ) {
      return guarded(connection, (one) => super.createConnection(one, callback));
    }
  }
  const agents = (settings: AgentOptions) => ({
    'http:': new GuardedHttpAgent(settings),
    'https:': new GuardedHttpsAgent(settings),
  });
  const kept = agents(KEEP);
  const fresh = agents({ keepAlive: false });
  return {
    kept,
    fresh,
    destroy() {
      for (const agent of [...Object.values(kept), ...Object.values(fresh)]) agent.destroy();
    },
  };
}

function hostOf({ host }: ConnectionOptions): string {
  const name = (host ?? '').toLowerCase();
  return name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
}

/** Resolves a name; refuses it if any address is forbidden, as node:net picks one. */
function guardedLookup({
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
function refuseConnected(socket: Duplex, host: string, rules: AddressRules): void {
  socket.once('connect', () => {
    try {
      const address = (socket instanceof Socket ? socket.remoteAddress : undefined) ?? '';
      refuseForbidden(host, address, rules);
    } catch (error) {
      socket.destroy(error instanceof AddressRefused ? error : new AddressRefused(String(error)));
    }
  });
}
