import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { drain, spooledBytes } from './drain.ts';

/** A gateway whose spool shrinks with each look at it. */
async function gateway(sizes: number[]) {
  let at = 0;
  const server = createServer((_, response) => {
    const bytes = sizes[Math.min(at++, sizes.length - 1)] ?? 0;
    response.end(
      `# HELP x y\nravand_gateway_spool_max_bytes 1\nravand_gateway_spool_bytes ${bytes}\n`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    metricsUrl: `http://127.0.0.1:${port}/metrics`,
    looks: () => at,
    close: () => server.close(),
  };
}

it('waits until the spool of a gateway is empty', async () => {
  const { close, looks, metricsUrl } = await gateway([2048, 1024, 0]);
  expect(await drain({ delayMs: 0, drainMs: 60_000, metricsUrl })).toBe(0);
  expect(looks()).toBe(3);
  close();
});

it('gives up while Kafka is unavailable, and names what is left', async () => {
  const { close, metricsUrl } = await gateway([4096]);
  expect(await drain({ delayMs: 0, drainMs: 1, metricsUrl })).toBe(4096);
  close();
});

it('does not wait for a process that has no spool, or is gone', async () => {
  const metricsUrl = 'http://127.0.0.1:1/metrics';
  expect(await drain({ delayMs: 0, drainMs: 0, metricsUrl })).toBe(0);
  expect(await drain({ delayMs: 0, drainMs: 60_000, metricsUrl })).toBe(0);
});

it('reads the metric of the gateway, with labels and exponents', () => {
  expect(spooledBytes('ravand_gateway_spool_bytes{queue="held"} 1.5e+9\n')).toBe(1.5e9);
  expect(spooledBytes('ravand_gateway_spool_max_bytes 7\n')).toBeUndefined();
});
