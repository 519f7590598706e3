import { request, type Agent } from 'node:http';
import { connect } from 'node:net';

/** What came back; undefined status: the connection ended without an answer. */
export interface Exchange {
  trace: string;
  status: number | undefined;
  body: string;
}

export interface Target {
  host: string;
  port: number;
  writeKey: string;
}

const ANSWER_MS = 30_000;

/** One request over a connection that is used again. */
export async function exchange(
  target: Target,
  agent: Agent,
  {
    method = 'POST',
    path,
    headers,
    body,
    trace,
  }: {
    method?: string;
    path: string;
    headers: Record<string, string>;
    body: Buffer;
    trace: string;
  },
): Promise<Exchange> {
  return new Promise((resolve) => {
    const none = () => resolve({ trace, status: undefined, body: '' });
    const outgoing = request(
      {
        ...{
          host: target.host,
          port: target.port,
          method,
          path,
          agent,
          timeout: ANSWER_MS,
        },
        headers: {
          'X-Service-Key': target.writeKey,
          ...headers,
          'X-Service-Trace': trace,
          'Content-Length': body.length,
        },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ trace, status: answer.statusCode, body: Buffer.concat(chunks).toString() }),
        );
        answer.on('error', none);
      },
    );
    outgoing.on('error', none);
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.end(body);
  });
}

/** A piece of what a raw connection sends, and how long it waits before it. */
export interface Piece {
  bytes: Buffer | string;
  after?: number;
}

export interface RawInput {
  kind: string;
  pieces: readonly Piece[];
  /** Sends FIN after the last piece and continues to read. */
  isHalfClosed?: boolean;
  /** Breaks the connection after the last piece, without reading. */
  isBroken?: boolean;
  /** Ends when nothing is received for this long, ms. */
  timeout?: number;
}

/**
 * Bytes straight onto a connection; reads every answer until the connection is closed or idle for
 * `timeout`.
 */
export async function rawExchange(
  target: Target,
  { pieces, isHalfClosed, isBroken, timeout = 1000 }: RawInput,
): Promise<Exchange[]> {
  const socket = connect({ port: target.port, host: target.host, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  const ended = new Promise<void>((resolve) => {
    socket.on('end', resolve).on('close', resolve).on('error', resolve);
    socket.setTimeout(timeout, resolve);
  });
  for (const { bytes, after } of pieces) {
    if (after !== undefined)
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, after))]);
    if (socket.destroyed) break;
    socket.write(bytes);
  }
  if (isBroken) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    socket.resetAndDestroy();
    return [];
  }
  if (isHalfClosed) socket.end();
  await ended;
  socket.destroy();
  return readAnswers(Buffer.concat(chunks).toString('latin1'));
}

/** The answers of a connection, by their Content-Length. */
export function readAnswers(text: string): Exchange[] {
  const answers: Exchange[] = [];
  for (let rest = text; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(rest) ?? [];
    if (end === -1 || status === undefined)
      throw new Error(`no HTTP came back: ${rest.slice(0, 200)}`);
    const head = rest.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    if (status !== '100')
      answers.push({
        trace: /\r\nx-service-trace: (\w+)/i.exec(head)?.[1] ?? '',
        status: Number(status),
        body,
      });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}
