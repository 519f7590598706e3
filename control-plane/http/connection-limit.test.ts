import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { parseTrustedProxies, type TrustedProxies } from '../../platform/network/client-address.ts';
import { limitConnections } from './connection-limit.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A server that greets each connection that it keeps. */
async function listening(proxies: TrustedProxies): Promise<() => Promise<'kept' | 'closed'>> {
  const server = createServer();
  limitConnections(server, { proxies, perNetwork: 3 });
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    if (!socket.destroyed) socket.write('hello');
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return async () => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(client);
    client.on('error', () => undefined);
    const kept = once(client, 'data').then(() => 'kept' as const);
    return Promise.race([kept, once(client, 'close').then(() => 'closed' as const)]);
  };
}

it('a network gets no more connections than its share, until one of them is closed', async () => {
  const open = await listening(undefined);
  expect([await open(), await open(), await open(), await open()]).toEqual([
    ...['kept', 'kept', 'kept', 'closed'],
  ]);
  sockets.find((socket) => !socket.destroyed)?.destroy();
  await vi.waitFor(async () => expect(await open()).toBe('kept'), { timeout: 20_000 });
});

it('a trusted proxy has as many as it needs', async () => {
  const open = await listening(parseTrustedProxies(['127.0.0.0/8']));
  for (let time = 0; time < 10; time++) expect(await open()).toBe('kept');
});
