import { connect, type Socket } from 'node:net';
import { AddressRefused, refuseDestination, type OutboundGuard } from './guard.ts';
import { guardedLookup, refuseConnected } from './guarded-lookup.ts';

export interface GuardedTarget {
  /** As an account entered it. */
  host: string;
  port: number;
  /** Ports of the protocol, beside RELAY_ALLOW_PORTS. Hosts that the operator allows have any. */
  allowsPort: (port: number) => boolean;
  guard: OutboundGuard;
  /** Of DNS and the connection, ms. */
  timeout: number;
  signal?: AbortSignal | undefined;
}

/**
 * Opens a TCP connection for a protocol other than HTTP to a host that an account entered. The
 * address that the guard checked is the one that is connected to. Rejects with AddressRefused, with
 * the signal's reason, or with the system's error. The caller listens for `error` afterwards.
 */
export async function connectGuarded(target: GuardedTarget): Promise<Socket> {
  const { port, guard, signal } = target;
  const host = urlHost(target.host);
  signal?.throwIfAborted();
  refuseDestination({ host, port }, guard);
  const isAllowed = guard.allowed.allows(host, port);
  if (!isAllowed && !target.allowsPort(port) && !guard.rules.allowsPort(port))
    throw new AddressRefused(
      `nothing is sent to port ${port} over this protocol; RELAY_ALLOW_PORTS names more ports, OUTBOUND_ALLOW_HOSTS exceptions`,
    );
  const rules = isAllowed ? undefined : guard.rules;
  const lookup = guardedLookup({ resolve: guard.resolve, rules });
  const socket = connect({ host: host.replace(/^\[(.*)\]$/, '$1'), port, lookup, noDelay: true });
  if (rules) refuseConnected(socket, host, rules);
  await connected(socket, { host, port, timeout: target.timeout, signal });
  return socket;
}

/** A host as URLs write it: numeric addresses in one notation, names in ASCII. */
function urlHost(text: string): string {
  const host = text.includes(':') && !text.startsWith('[') ? `[${text}]` : text;
  const url = /[/?#@\\\s]/.test(host) ? null : URL.parse(`http://${host}/`);
  if (!url || url.hostname === '' || url.port !== '')
    throw new AddressRefused(`the host ${text} cannot be read: give a name or an address`);
  return url.hostname;
}

function connected(
  socket: Socket,
  at: { host: string; port: number; timeout: number; signal: AbortSignal | undefined },
): Promise<void> {
  const { signal } = at;
  return new Promise((resolve, reject) => {
    const aborted = () => socket.destroy(signal?.reason as Error);
    const failed = (error: Error) => {
      stopWaiting();
      reject(error);
    };
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection to ${at.host}:${at.port} in time`)),
      at.timeout,
    );
    const stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
      socket.off('error', failed);
    };
    socket.once('error', failed);
    signal?.addEventListener('abort', aborted, { once: true });
    if (signal?.aborted) aborted();
    // After refuseConnected, which destroys the socket.
    socket.once('connect', () => {
      if (socket.destroyed) return;
      stopWaiting();
      resolve();
    });
  });
}
