import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

/**
 * The baseline: reads the body, compares its HMAC, parses it as JSON, answers. No lookup, no
 * mapping, no claims, no log.
 */
const [port = '', secret = ''] = process.argv.slice(2);
createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    const expected = createHmac('sha256', secret).update(body).digest();
    const sent = Buffer.from(String(request.headers['x-storefront-hmac-sha256'] ?? ''), 'base64');
    response.setHeader('Content-Type', 'application/json');
    if (sent.length !== expected.length || !timingSafeEqual(expected, sent)) {
      response.statusCode = 401;
      response.end('{"status":"error"}');
      return;
    }
    JSON.parse(body.toString());
    response.end('{"status":"ok","accepted":1}');
  });
}).listen(Number(port), '127.0.0.1');
