import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClientClock } from '../../platform/http/client-clock.ts';
import { openHost, type ComparedHost } from '../fast-path/testing/compared-hosts.ts';
import { connectionLimit, descriptorLimit } from './connection-limit.ts';

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
});

describe.each([
  ['the fast path', true],
  ['node:http', false],
])('at the limit of connections, %s', (_, hasFastPath) => {
  const MAX = 8;
  let host: ComparedHost;
  let time: number;
  let clock: ClientClock;
  let sockets: Socket[];

  beforeEach(async () => {
    [time, sockets] = [0, []];
    clock = new ClientClock(() => time);
    host = await openHost({ hasFastPath, maxConnections: MAX, clock });
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await host.close();
  });

  function pass(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      time += 1000;
      clock.check();
    }
  }

  async function until(condition: () => boolean): Promise<void> {
    for (let waited = 0; !condition() && waited < 5000; waited += 5)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(condition()).toBe(true);
  }

  /** Connects and sends; resolves when the server has the connection. */
  async function open(sent: string) {
    const before = host.connections.open + host.connections.evicted + host.connections.refused;
    const socket = connect({ port: host.port, host: '127.0.0.1', noDelay: true });
    sockets.push(socket);
    let [text, isClosed] = ['', false];
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('close', () => (isClosed = true));
    socket.on('error', () => undefined);
    socket.write(sent);
    await until(
      () => host.connections.open + host.connections.evicted + host.connections.refused > before,
    );
    await new Promise((resolve) => setTimeout(resolve, 5));
    time += 1;
    return { socket, text: () => text, isClosed: () => isClosed };
  }

  const post = (key: string, body: string, missing = 0) =>
    `POST /v1/track HTTP/1.1\r\nHost: x\r\nX-Service-Key: ${key}\r\nContent-Length: ${body.length + missing}\r\n\r\n${body}`;

  it.each([
    ['nothing', ''],
    ['half of a head', 'POST /v1/track HTTP/1.1\r\nX-A: '],
    ['half of the body of an unknown key', post('nobody', 'x', 1000)],
    ['a request, and then nothing', post('nobody', 'x')],
  ])('serves new clients while others hold all connections with %s', async (kind, sent) => {
    for (let holder = 0; holder < MAX; holder++) await open(sent);
    if (kind.startsWith('half of the body')) pass(6);
    for (let client = 0; client < 3 * MAX; client++) {
      const { text } = await open(post(`good-${client}`, '{}'));
      await until(() => text().startsWith('HTTP/1.1 200'));
    }
    expect(host.connections.refused).toBe(0);
    expect(host.connections.open).toBeLessThanOrEqual(MAX);
  });

  it('closes no connection that is in use: it refuses new ones', async () => {
    const uploads = [];
    for (let client = 0; client < MAX; client++)
      uploads.push(await open(post(`good-${client}`, 'x', 1)));
    const late = await open(post('good-99', '{}'));
    await until(() => late.isClosed());
    expect([host.connections.refused, host.connections.evicted]).toEqual([1, 0]);
    for (const { socket } of uploads) socket.write('x');
    for (const { text } of uploads) await until(() => text().startsWith('HTTP/1.1 200'));
  });

  it('closes an upload that hardly moves before it refuses a new client', async () => {
    for (let client = 0; client < MAX; client++) await open(post(`good-${client}`, 'x', 1000));
    pass(6);
    const { text } = await open(post('good-99', '{}'));
    await until(() => text().startsWith('HTTP/1.1 200'));
    expect([host.connections.refused, host.connections.evicted]).toEqual([0, 1]);
  });

  it('closes unused connections before idle ones', async () => {
    const client = await open(post('good-1', '{}'));
    await until(() => client.text().startsWith('HTTP/1.1 200'));
    for (let holder = 0; holder < 5 * MAX; holder++) await open('');
    expect(client.isClosed()).toBe(false);
    client.socket.write(post('good-1', '{}'));
    await until(() => client.text().split('HTTP/1.1 200').length === 3);
  });
});
