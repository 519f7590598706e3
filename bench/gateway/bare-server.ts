import { createServer } from 'node:http';

/** The baseline: reads the body, parses that of a POST, answers. No key, claims or Kafka. */
createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    if (request.method === 'POST') JSON.parse(body.toString());
    response.setHeader('Content-Type', 'application/json');
    response.end('{"status":"ok","accepted":1}');
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
