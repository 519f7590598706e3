import {
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { atEnd, listen } from '../../outbound/receivers.ts';
import { selfSigned } from './self-signed.ts';

export interface ReceivedPost {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  stream: ServerHttp2Stream;
}

export interface Http2Receiver {
  port: number;
  /** In the order in which they ended. */
  received: ReceivedPost[];
  sessions: ServerHttp2Session[];
}

/** A server of node:http2 that records requests and answers them. */
export async function http2Receiver(
  answer: (request: ReceivedPost, count: number) => void,
  options: SecureServerOptions = {},
): Promise<Http2Receiver> {
  const received: ReceivedPost[] = [];
  const sessions: ServerHttp2Session[] = [];
  const server = createSecureServer({ ...selfSigned(), ...options });
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const path = headers[':path'] ?? '';
      const request = { path, headers, stream, body: Buffer.concat(chunks) };
      received.push(request);
      answer(request, received.length);
    });
  });
  const port = await listen(server);
  atEnd(() => sessions.forEach((session) => session.destroy()));
  return { port, received, sessions };
}

/** Answers with a status, headers and a body. */
export function respond(
  { stream }: ReceivedPost,
  answer: { status?: number; headers?: Record<string, string>; body?: string } = {},
): void {
  stream.respond({ ':status': answer.status ?? 200, ...answer.headers });
  stream.end(answer.body ?? '');
}

/** An encrypted server that agrees to speak a protocol and leaves the bytes to the test. */
export async function tlsReceiver(
  onConnection: (socket: TLSSocket) => void,
  protocol = 'h2',
): Promise<number> {
  const sockets = new Set<TLSSocket>();
  const server = createTlsServer({ ...selfSigned(), ALPNProtocols: [protocol] }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.on('tlsClientError', () => undefined);
  atEnd(() => sockets.forEach((socket) => socket.destroy()));
  return listen(server);
}
