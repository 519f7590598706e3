import { RawClient } from './http/raw-client.ts';

export interface PostResult {
  /** Requests answered 200. */
  answered: number;
  failed: number;
  /** Latencies, ms, in the order of the answers. */
  latencies: number[];
}

interface PostOptions {
  url: string;
  headers: Record<string, string> | ((n: number) => Record<string, string>);
  /** Body of request number n, which is copied; headers may depend on n, too. */
  body: (n: number) => string | Buffer;
  connections: number;
  /** Requests a second. */
  rate: number;
  /** ms */
  duration: number;
}

/**
 * Posts bodies at a fixed rate over keep-alive connections, without pipelining, and waits for the
 * last answers. Late requests are sent at once.
 */
export async function postAtRate(options: PostOptions): Promise<PostResult> {
  const { pathname: path } = new URL(options.url);
  const client = new RawClient({ url: options.url, max: options.connections });
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
      const headers = typeof options.headers === 'function' ? options.headers(n) : options.headers;
      const post = { path, headers, body: options.body(n) };
      const { status } = await client.post(post).catch(() => ({ status: 0 }));
      result.latencies.push(performance.now() - at);
      if (status === 200) result.answered++;
      else result.failed++;
    }
  };
  await Promise.all(Array.from({ length: options.connections }, worker));
  client.close();
  return result;
}

/** The nearest-rank percentile; `share` is between 0 and 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return (
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ??
    Number.NaN
  );
}
