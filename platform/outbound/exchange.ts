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
  /** The beginning of the body of an answer other than 2xx, without NUL; empty for 2xx. */
  excerpt: string;
}

interface Exchange {
  url: URL;
  /** Takes a kept connection where there is one. */
  kept: Agent;
  /** Always connects anew. */
  fresh: Agent;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** performance.now() at which everything must be over. */
  deadline: number;
  /** The whole time, for the message. */
  timeout: number;
  excerptBytes: number;
}

/**
 * An answer that is not read to its end costs its connection; up to here it is read, so that the
 * connection can be kept.
 */
const DRAINED_BYTES = 64 * 1024;
/** A body that comes this slowly costs the connection too, ms. */
const DRAINED_MS = 1000;

/**
 * One POST and its answer. Rejects when there is none in time. A kept connection that the other
 * side closed just then is not the endpoint's failure: the request goes out once more, on a
 * connection of its own.
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
    const late = setTimeout(
      () => request.destroy(new Error(`no answer within ${timeout / 1000} s`)),
      Math.max(1, deadline - performance.now()),
    );
    request.once('close', () => {
      if (!isAnswered) reject(new Error('the connection was closed without an answer'));
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (isAnswered) return;
      clearTimeout(late);
      const isStale =
        request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(isStale ? new ConnectionWasStale() : error);
    });
    request.once('response', (response) => {
      isAnswered = true;
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (status >= 200 && status < 300) {
        clearTimeout(late);
        drain(response);
        return resolve({ status, location, excerpt: '' });
      }
      void beginning(response, options.excerptBytes).then((excerpt) => {
        clearTimeout(late);
        resolve({ status, location, excerpt });
      });
    });
    request.end(body);
  });
}

/**
 * The first bytes of a body, as text; what came when it ends, breaks or is cut off by the deadline.
 * Never rejects.
 */
function beginning(response: IncomingMessage, bytes: number): Promise<string> {
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

/** Reads the rest of a body, at most so much and so long; then the connection goes. */
function drain(response: IncomingMessage): void {
  let length = 0;
  const late = setTimeout(() => response.destroy(), DRAINED_MS);
  late.unref();
  response.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > DRAINED_BYTES) response.destroy();
  });
  response.once('error', () => undefined);
  response.once('close', () => clearTimeout(late));
}

/**
 * Cuts on a character's boundary; a NUL, which PostgreSQL cannot hold, and broken UTF-8 become
 * U+FFFD.
 */
function textOf(bytes: Buffer, most: number): string {
  return truncateBytes(bytes.toString('utf8').replaceAll('\u0000', '\ufffd'), most);
}
