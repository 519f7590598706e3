import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

export interface LoadOptions {
  host: string;
  port: number;
  connections: number;
  /** Milliseconds before counting begins, and while it lasts. */
  warmUp: number;
  duration: number;
  /**
   * Makes the source of a connection's requests, header and body; a buffer may be used again once
   * its request is answered.
   */
  request: () => () => Buffer;
}

export interface LoadResult {
  /** Answered during the measurement. */
  requests: number;
  /** All answers, including the warm-up. */
  sent: number;
  seconds: number;
  failures: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  firstFailure: string;
}

/**
 * Sends requests on keep-alive connections, each when the last one is answered. Reads only the
 * status and length of answers.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  const result = { requests: 0, sent: 0, failures: 0, firstFailure: '' };
  const begin = performance.now() + options.warmUp;
  const end = begin + options.duration;
  const onAnswer = (sentAt: number, answer: Buffer) => {
    const at = performance.now();
    result.sent++;
    if (at < begin || at > end) return;
    result.requests++;
    latencies.push(at - sentAt);
    // "HTTP/1.1 200": the third digit group begins at 9.
    if (answer[9] !== 0x32) {
      result.failures++;
      if (result.firstFailure === '') result.firstFailure = answer.toString('latin1');
    }
  };
  await Promise.all(
    Array.from({ length: options.connections }, () => runConnection(options, end, onAnswer)),
  );
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? NaN;
  return { ...result, seconds: options.duration / 1000, p50: at(0.5), p99: at(0.99) };
}

function runConnection(
  options: LoadOptions,
  end: number,
  onAnswer: (sentAt: number, answer: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: options.host, port: options.port, noDelay: true });
    let received = Buffer.alloc(0);
    let sentAt = 0;
    const next = options.request();
    const send = () => {
      sentAt = performance.now();
      if (sentAt > end) socket.end();
      else socket.write(next());
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const length = answerLength(received);
      if (length === undefined || received.length < length) return;
      const answer = received.subarray(0, length);
      received = received.subarray(length);
      onAnswer(sentAt, answer);
      send();
    });
  });
}

/** Bytes of the whole answer; undefined while its header is not complete. */
function answerLength(received: Buffer): number | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(received.toString('latin1', 0, headEnd));
  return headEnd + 4 + Number(length?.[1] ?? 0);
}
