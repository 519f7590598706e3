import { signatureOf } from '../../events/webhooks/signature.ts';
import { deliveryText, order } from '../../test/support/webhooks/hosted-payloads.ts';
import { runLoad } from '../gateway/load.ts';

/**
 * Puts signed orders on one port, each with an id of its own, and prints the result as JSON; a
 * process of its own, so that it can stay on its own core.
 */
const [port = '', connections = '', duration = '', token = '', secret = '', run = ''] =
  process.argv.slice(2);
/**
 * In place of the order's id: as many digits, so that only they and the signature differ between
 * requests.
 */
const ID = '100000000000000000';
const body = Buffer.from(deliveryText(order(new Date(), { id: ID })));
const idAt = body.indexOf(ID);
let serial = BigInt(ID) + BigInt(run) * 1_000_000_000n;

const result = await runLoad({
  host: '127.0.0.1',
  port: Number(port),
  connections: Number(connections),
  warmUp: 1500,
  duration: Number(duration),
  request: () => () => {
    body.write(String(serial++), idAt, 'latin1');
    const head = [
      `POST /v1/hooks/hosted_storefront/${token} HTTP/1.1`,
      'Host: bench',
      'Content-Type: application/json',
      'X-Storefront-Topic: orders/create',
      `X-Storefront-Hmac-Sha256: ${signatureOf(body, secret)}`,
      `Content-Length: ${body.length}`,
    ];
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
  },
});
console.log(JSON.stringify({ ...result, bytes: body.length }));
