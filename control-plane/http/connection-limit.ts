import type { Server, Socket } from 'node:net';
import { unmapped } from '../../platform/network/address-ranges.ts';
import type { TrustedProxies } from '../../platform/network/client-address.ts';
import { networkOf } from '../../platform/network/network-of.ts';

/** Of 1,000 connections of the listener; a browser opens six. */
const PER_NETWORK = 200;

/**
 * Closes connections of a network that has too many open, so that one cannot take all connections
 * of a public listener. Trusted proxies are exempt: all clients are behind them.
 */
export function limitConnections(
  server: Server,
  { proxies, perNetwork = PER_NETWORK }: { proxies: TrustedProxies; perNetwork?: number },
): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = unmapped(socket.remoteAddress ?? '');
    if (proxies?.contains(address)) return;
    const network = networkOf(address);
    const count = (open.get(network) ?? 0) + 1;
    if (count > perNetwork) {
      socket.destroy();
      return;
    }
    open.set(network, count);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  });
}
