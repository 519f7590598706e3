import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { AddressRules } from './address-rules.ts';
import { AllowedHosts } from './allowed-hosts.ts';
import { AddressRefused } from './guard.ts';
import { connectGuarded } from './guarded-socket.ts';
import { atEnd, closeAll, listen, LOCAL } from './receivers.ts';
import type { Resolve } from './resolve.ts';

afterEach(closeAll);

interface Given {
  host: string;
  port?: number;
  allow?: string[];
  resolve?: Resolve;
  signal?: AbortSignal;
}

async function connectTo({ host, port = 25, allow = [], resolve = LOCAL, signal }: Given) {
  const guard = { allowed: new AllowedHosts(allow), rules: new AddressRules(), resolve };
  const allowsPort = (one: number) => one === 25;
  const socket = await connectGuarded({ host, port, allowsPort, guard, timeout: 2000, signal });
  atEnd(() => socket.destroy());
  return socket;
}

async function echo(): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined);
    socket.end('220 hello\r\n');
  });
  return { port: await listen(server), connections: () => connections };
}

test.each<[string, Given, string]>([
  ['a loopback address', { host: '127.0.0.1' }, 'is a loopback address'],
  ['another notation of one', { host: '0x7f.1' }, 'is a loopback address'],
  ['an IPv6 one', { host: '::1' }, 'is a loopback address'],
  ['a name with a forbidden address', { host: 'mail.example' }, 'has an address where nothing'],
  ['another port', { host: 'mail.example', port: 6379 }, 'nothing is sent to port 6379'],
  ['a text that is no host', { host: 'a/b' }, 'cannot be read'],
  ['a host with a port', { host: 'mail.example:25' }, 'cannot be read'],
  ['a host with a user', { host: 'x@127.0.0.1' }, 'cannot be read'],
])('an account cannot make it connect to %s', async (_, given, message) => {
  const failure = connectTo(given);
  await expect(failure).rejects.toThrow(AddressRefused);
  await expect(failure).rejects.toThrow(message);
});

test('a host that the operator allows is reached, at its port only', async () => {
  const { port, connections } = await echo();
  const allow = [`mail.example:${port}`];
  const socket = await connectTo({ host: 'Mail.Example', port, allow });
  expect(socket.remotePort).toBe(port);
  await expect(connectTo({ host: 'mail.example', port: port ^ 1, allow })).rejects.toThrow(
    AddressRefused,
  );
  expect(connections()).toBe(1);
});

test('the address that was checked is connected to, and no second look-up is made', async () => {
  const { port, connections } = await echo();
  let lookups = 0;
  const resolve: Resolve = () => {
    lookups++;
    return Promise.resolve([{ address: lookups === 1 ? '192.0.2.1' : '127.0.0.1', family: 4 }]);
  };
  await expect(connectTo({ host: 'rebound.example', port, resolve })).rejects.toThrow();
  expect(lookups).toBeLessThanOrEqual(1);
  expect(connections()).toBe(0);
});

test('a refused connection and an unknown name are failures that may pass', async () => {
  const refused = connectTo({ host: 'mail.example', port: 1, allow: ['mail.example'] });
  await expect(refused).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const unknown = connectTo({
    host: 'none.example',
    resolve: () => Promise.reject(new Error('ENOTFOUND')),
  });
  await expect(unknown).rejects.toThrow('ENOTFOUND');
});

test('waiting for a connection ends with the signal', async () => {
  const stop = new AbortController();
  const waiting = connectTo({
    host: 'slow.example',
    resolve: () => {
      stop.abort(new Error('stopped'));
      return new Promise(() => undefined);
    },
    signal: stop.signal,
  });
  await expect(waiting).rejects.toThrow('stopped');
});
