import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Analytics } from '@segment/analytics-node';
import { Ravand } from '../../sdk/node/src/index.ts';

/** Of a call, as shops make them. */
const properties = {
  product_id: 'p-17',
  product_name: 'چای لاهیجان',
  price: 185_000,
  in_stock: true,
};

export interface NodeSdk {
  name: string;
  /** Makes the calls, in one task; resolves to what waits for all answers. */
  run: (host: string, calls: number) => Promise<() => Promise<unknown>>;
}

const ravand = (more: object) => (host: string, calls: number) => {
  const sdk = new Ravand({ writeKey: 'key', host, maxQueue: calls, ...more });
  for (let at = 0; at < calls; at++)
    sdk.track({ userId: `user-${at % 1000}`, event: 'product_viewed', properties });
  return Promise.resolve(() => sdk.close(120_000));
};

export const NODE_SDKS: readonly NodeSdk[] = [
  { name: 'Ravand, in memory', run: ravand({}) },
  {
    name: 'Ravand, queue file',
    run: async (host, calls) => {
      const folder = await mkdtemp(join(tmpdir(), 'ravand-bench-'));
      const close = await ravand({ queueFile: join(folder, 'queue') })(host, calls);
      return () => close().finally(() => rm(folder, { recursive: true }));
    },
  },
  {
    name: '@segment/analytics-node',
    run: (host, calls) => {
      const sdk = new Analytics({ writeKey: 'key', host, flushAt: 500 });
      for (let at = 0; at < calls; at++)
        sdk.track({ userId: `user-${at % 1000}`, event: 'product_viewed', properties });
      return Promise.resolve(() => sdk.closeAndFlush({ timeout: 120_000 }));
    },
  },
];
