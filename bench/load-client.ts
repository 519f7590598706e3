import { Agent, request } from 'node:http';

/** Posts bodies over kept-open connections at a fixed rate; no pipelining. */
export interface PostResult {
  /** Requests answered 200. */
  answered: number;
  failed: number;
  /** Time from sending to the answer, ms, in the order of the answers. */
  latencies: number[];
}

interface PostOptions {
  url: string;
  headers: Record<string, string>;
  /** Body of request number n. */
  body: (n: number) => Buffer;
  connections: number;
  /** Requests a second. */
  rate: number;
  /** ms */
  duration: number;
}

/**
 * Sends at a fixed rate, late requests at once, until the time is over; waits for the last answers.
 */
export async function postAtRate(options: PostOptions): Promise<PostResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  const result: PostResult = { answered: 0, failed: 0, latencies: [] };
  const begun = performance.now();
  let sent = 0;
  const worker = async () => {
    for (;;) {
      const n = sent++;
      const due = begun + (n / options.rate) * 1000;
      if (due > begun + options.duration) return;
      const wait = due - performance.now();
      if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
      const at = performance.now();
      const status = await post(options.url, agent, options.headers, options.body(n));
      result.latencies.push(performance.now() - at);
      if (status === 200) result.answered++;
      else result.failed++;
    }
  };
  await Promise.all(Array.from({ length: options.connections }, worker));
  agent.destroy();
  return result;
}

async function post(
  url: string,
  agent: Agent,
  headers: Record<string, string>,
  body: Buffer,
): Promise<number> {
  return new Promise((resolve) => {
    const outgoing = request(
      url,
      { method: 'POST', agent, headers: { ...headers, 'content-length': String(body.length) } },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    outgoing.on('error', () => resolve(0));
    outgoing.end(body);
  });
}

/** The value below which a share of the values lies (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return (
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ??
    Number.NaN
  );
}
