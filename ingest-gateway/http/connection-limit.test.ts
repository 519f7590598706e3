import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { connectionLimit, descriptorLimit, OpenConnections } from './connection-limit.ts';

describe('the limit of connections', () => {
  it.each([
    ['is 10,000 where the system allows it', 0, 1_048_576, 10_000],
    ['leaves 256 descriptors to spool, Kafka and databases', 0, 4096, 3840],
    ['leaves half of a few descriptors', 0, 300, 150],
    ['is the setting', 50_000, 1_048_576, 50_000],
    ['is never so high that the spool could not open a file', 50_000, 20_000, 19_744],
  ])('%s', (_, setting, descriptors, expected) => {
    expect(connectionLimit(setting, descriptors)).toBe(expected);
  });

  it('is read from the limits of the process', () => {
    expect(descriptorLimit('/no/such/file')).toBeUndefined();
    if (process.platform === 'linux') expect(descriptorLimit()).toBeGreaterThan(0);
  });

  it('closes further connections at once and lets new ones in when others have left', async () => {
    const server = createServer((_, response) => response.end('ok'));
    const connections = new OpenConnections(2);
    connections.watch(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const open = () => connect(port, '127.0.0.1').on('error', () => undefined);
    const until = async (condition: () => boolean) => {
      for (let waited = 0; !condition() && waited < 3000; waited += 5)
        await new Promise((resolve) => setTimeout(resolve, 5));
      expect(condition()).toBe(true);
    };
    const first = open();
    await until(() => connections.open === 1);
    open();
    await until(() => connections.open === 2);
    let isClosed = false;
    open()
      .on('close', () => (isClosed = true))
      .resume();
    await until(() => isClosed);
    expect([connections.open, connections.refused]).toEqual([2, 1]);
    first.destroy();
    await until(() => connections.open === 1);
    open();
    await until(() => connections.open === 2);
    server.closeAllConnections();
    server.close();
  });
});
