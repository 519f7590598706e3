import {
  request as httpRequest,
  type Agent,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { performance } from 'node:perf_hooks';
import { truncateBytes } from '../../events/bytes.ts';

export interface Answer {
  status: number;
  location: string | undefined;
  /** The first bytes of the body of an answer other than 2xx, without NUL; empty for 2xx. */
  excerpt: string;
}

interface Exchange {
  url: URL;
  /** Reuses an idle connection if there is one. */
  kept: Agent;
  /** Always opens a new connection. */
  fresh: Agent;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** performance.now() of the timeout. */
  deadline: number;
  /** The total timeout for the message, ms. */
  timeout: number;
  excerptBytes: number;
}

/**
 * A connection can be reused only after its answer is read to the end; reads up to this many bytes.
 */
const DRAINED_BYTES = 64 * 1024;
/** A slower body closes the connection, ms. */
const DRAINED_MS = 1000;

/**
 * One POST and its answer. Rejects on timeout. When a reused connection turns out to be closed,
 * sends the request again on a new connection: that is not a failure of the endpoint.
 */
export async function exchange(options: Exchange): Promise<Answer> {
  try {
    return await attempt(options, options.kept);
  } catch (error) {
    if (!(error instanceof ConnectionWasStale)) throw error;
    return attempt(options, options.fresh);
  }
}

class ConnectionWasStale extends Error {}

function attempt(options: Exchange, agent: Agent): Promise<Answer> {
  const { url, headers, body, deadline, timeout } = options;
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request: ClientRequest = send(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
      agent,
      maxHeaderSize: 16 * 1024,
    });
    let isAnswered = false;
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer within ${timeout / 1000} s`)),
      Math.max(1, deadline - performance.now()),
    );
    request.once('close', () => {
      if (!isAnswered) reject(new Error('the connection was closed without an answer'));
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (isAnswered) return;
      clearTimeout(timer);
      const isStale =
        request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(isStale ? new ConnectionWasStale() : error);
    });
    request.once('response', (response) => {
      isAnswered = true;
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (status >= 200 && status < 300) {
        clearTimeout(timer);
        drain(response);
        return resolve({ status, location, excerpt: '' });
      }
      void readExcerpt(response, options.excerptBytes).then((excerpt) => {
        clearTimeout(timer);
        resolve({ status, location, excerpt });
      });
    });
    request.end(body);
  });
}

/**
 * The first bytes of a body as text: what arrived until it ends, fails or times out. Never rejects.
 */
function readExcerpt(response: IncomingMessage, bytes: number): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = () => resolve(textOf(Buffer.concat(chunks), bytes));
    response.on('data', (chunk: Buffer) => {
      if (length >= bytes) return;
      chunks.push(chunk.subarray(0, bytes - length));
      length += chunk.length;
      if (length >= bytes) {
        done();
        drain(response);
      }
    });
    response.once('close', done);
    response.once('error', done);
  });
}

/** Reads the rest of a body up to DRAINED_BYTES and DRAINED_MS, then closes the connection. */
function drain(response: IncomingMessage): void {
  let length = 0;
  const timer = setTimeout(() => response.destroy(), DRAINED_MS);
  timer.unref();
  response.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > DRAINED_BYTES) response.destroy();
  });
  response.once('error', () => undefined);
  response.once('close', () => clearTimeout(timer));
}

/** Cuts at a character boundary; NUL and invalid UTF-8 become U+FFFD. */
function textOf(bytes: Buffer, maxBytes: number): string {
  return truncateBytes(bytes.toString('utf8').replaceAll('\u0000', '\ufffd'), maxBytes);
}
