import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createLog } from '../log.ts';
import { COMMAND_CONNECT_MS, connectPostgres } from './pool.ts';

const log = createLog({ part: 'test', level: 'fatal' });
const sockets: Socket[] = [];
/** Accepts connections and says nothing, as a server that has no time. */
const server = createServer((socket) => {
  socket.on('error', () => undefined);
  sockets.push(socket);
});
afterEach(() => void server.close());

test('a command waits longer for a busy server than a service does', async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `postgres://someone@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`;
  const asked = (connectTimeout: number) => {
    const pool = connectPostgres({ url, log, name: 'test', connectTimeout });
    return pool.query('SELECT 1').finally(() => pool.end());
  };
  let isOver = false;
  const command = asked(COMMAND_CONNECT_MS).catch((error: unknown) => {
    isOver = true;
    return error;
  });
  await expect(asked(50)).rejects.toThrow('timeout');
  expect(isOver).toBe(false);
  for (const socket of sockets) socket.destroy();
  expect(String(await command)).toMatch(/terminated/);
});
