import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { choosePort, isPortFree } from './ports.ts';

describe('choosing a port', () => {
  const random = () => 0.5;

  it('returns the first preferred port that is free', async () => {
    expect(
      await choosePort({
        preferred: [8080, 25_000],
        isFree: (port) => Promise.resolve(port === 25_000),
        random,
      }),
    ).toBe(25_000);
  });

  it('otherwise returns any free port below the range of ephemeral ports', async () => {
    const port = await choosePort({
      preferred: [8080],
      isFree: (one) => Promise.resolve(one !== 8080),
      random: () => 0.999_999,
    });
    expect(port).toBeLessThan(32_768);
    expect(port).toBeGreaterThanOrEqual(20_000);
  });

  it('throws a sentence when nothing is free', async () => {
    await expect(
      choosePort({ preferred: [], isFree: () => Promise.resolve(false), random }),
    ).rejects.toThrow('is free: stop what uses them');
  });

  it('detects a listener on either address of localhost', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await isPortFree('127.0.0.1', port)).toBe(false);
    expect(await isPortFree('localhost', port)).toBe(false);
    await new Promise((resolve) => server.close(resolve));
    expect(await isPortFree('localhost', port)).toBe(true);
  });
});
