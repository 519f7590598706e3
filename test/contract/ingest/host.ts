import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { readyStack } from '../../support/stack.ts';

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string | string[]>;
  /** Text and bytes are sent unchanged, anything else as JSON. */
  body?: unknown;
}

/** One request to the ingest host on a connection of its own. */
export async function ask({ method = 'POST', path, headers = {}, body }: Sent): Promise<Answered> {
  const url = new URL(readyStack().ingest_url);
  const bytes =
    body === undefined
      ? undefined
      : Buffer.isBuffer(body)
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: url.hostname,
        port: url.port,
        method,
        path,
        agent: false,
        headers: { ...(bytes ? { 'Content-Length': bytes.length } : {}), ...headers },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
        answer.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(bytes);
  });
}

/**
 * Sends raw bytes; resolves with everything received until the host closes, or is silent for 1 s
 * behind an answer.
 */
export async function askRaw(bytes: string | Buffer): Promise<string> {
  const url = new URL(readyStack().ingest_url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname, () => socket.write(bytes));
    const chunks: Buffer[] = [];
    const end = () => {
      socket.destroy();
      resolve(Buffer.concat(chunks).toString());
    };
    // A busy machine may take its time to answer; behind an answer, nothing more is expected.
    socket.setTimeout(10_000, end);
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      socket.setTimeout(1000);
    });
    socket.on('error', reject);
    socket.on('close', end);
  });
}

export const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Authorization, X-Service-Key',
  'access-control-max-age': '86400',
};

/** The headers that the specification names. */
export function specified(headers: IncomingHttpHeaders): Record<string, unknown> {
  const named = [
    'content-type',
    'retry-after',
    'cache-control',
    'access-control-allow-credentials',
    ...Object.keys(CORS),
  ];
  return Object.fromEntries(
    named.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  );
}
