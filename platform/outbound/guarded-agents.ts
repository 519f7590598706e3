import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { OutboundGuard } from './guard.ts';
import { guardedLookup, refuseConnected } from './guarded-lookup.ts';

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
export function guardedAgents(
  options: OutboundGuard & {
    /** How long a connection without requests is kept, ms. */
    keptFor?: number;
    /** Connections without requests that are kept of a host; 16 by default. */
    keptCount?: number;
  },
): Agents {
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
  const kept = agents({
    ...KEEP,
    timeout: options.keptFor ?? KEEP.timeout,
    maxFreeSockets: options.keptCount ?? KEEP.maxFreeSockets,
  });
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
