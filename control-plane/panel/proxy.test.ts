import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ControlProxy } from './proxy.ts';

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

it('the panel passes the trace on, and a traceparent only if it is valid', async () => {
  const received: IncomingHttpHeaders[] = [];
  const control = createServer(({ headers }, response) => {
    received.push(headers);
    response.end('{}');
  });
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
  const { port } = control.address() as AddressInfo;
  const proxy = new ControlProxy({
    ...{ control: { host: '127.0.0.1', port }, panelSecret: 's' },
    cookies: { secure: false },
  });
  onTestFinished(() => {
    proxy.close();
    control.close();
  });
  const request = { method: 'GET', path: '/v1/status', token: 't', ip: '::1', body: undefined };
  const { signal } = new AbortController();
  for (const traceparent of [PARENT, undefined, `${PARENT}-x`, [PARENT, PARENT]])
    await proxy.forward({ ...request, trace: 'a3ce929d0e0e4736', traceparent, signal });
  expect(received.map((headers) => headers['x-service-trace'])).toEqual(
    Array(4).fill('a3ce929d0e0e4736'),
  );
  const [first, ...others] = received.map(({ traceparent }) => traceparent);
  expect([first, others]).toEqual([PARENT, [undefined, undefined, undefined]]);
});
