import { randomBytes } from 'node:crypto';
import { repeated } from './scenario.ts';

/** Forged deliveries to a known token and deliveries to unknown ones, until a message ends it. */
const [known = '', unknown = ''] = process.argv.slice(2);
const bodies = [Buffer.from('{}'), Buffer.alloc(1024 * 1024 - 16, 0x20)];
let turn = 0;

const stop = repeated(64, async () => {
  const isKnown = turn++ % 2 === 0;
  const response = await fetch(isKnown ? known : `${unknown}${randomBytes(24).toString('hex')}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-storefront-topic': 'orders/create',
      'x-storefront-hmac-sha256': randomBytes(32).toString('base64'),
    },
    body: new Uint8Array(bodies[turn % bodies.length] ?? []),
  });
  await response.arrayBuffer();
});
process.send?.('running');
process.once('message', () => {
  void stop().then((attempts) => process.send?.(attempts));
});
