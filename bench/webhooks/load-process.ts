import { signatureOf } from '../../events/webhooks/signature.ts';
import { runLoad } from '../gateway/load.ts';
import { ORDER_ID, signedOrder } from './order.ts';

/** Sends signed orders to one port, each with an id of its own; prints the result as JSON. */
const [port = '', connections = '', duration = '', token = '', secret = '', run = ''] =
  process.argv.slice(2);
const body = signedOrder();
const idAt = body.indexOf(ORDER_ID);
let serial = BigInt(ORDER_ID) + BigInt(run) * 1_000_000_000n;

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
console.log(JSON.stringify(result));
