import { randomUUID } from 'node:crypto';
import type { Ready } from '../../cli/ready.ts';
import type { Ledger } from './ledger.ts';
import type { TestAccount } from './stack.ts';

interface LoadOptions {
  ready: Ready;
  account: TestAccount;
  ledger: Ledger;
  /** People who act at the same time, each request after the answer to the last. */
  people: number;
  /** Pause between two requests of a person, ms. */
  pause: number;
}

export interface Load {
  /**
   * Ends the traffic; what is under way is sent again until it is answered 200, at most a minute.
   */
  stop(): Promise<LoadReport>;
}

export interface LoadReport {
  requests: number;
  retries: number;
  /** Answers other than 200 and 503, which a fault on our side must never cause (promise 5). */
  refusals: string[];
}

/**
 * Traffic as careful SDKs make it: single events and batches, each with message ids; what is not
 * answered 200 is sent again with the same ids. Every event carries its number within its person,
 * `seq`.
 */
export function startLoad(options: LoadOptions): Load {
  const report: LoadReport = { requests: 0, retries: 0, refusals: [] };
  let running = true;
  let deadline = Number.POSITIVE_INFINITY;
  const people = Array.from({ length: options.people }, async (_, person) => {
    let seq = 0;
    while (running) {
      const size = Math.random() < 0.5 ? 1 : 1 + Math.floor(Math.random() * 30);
      const items = Array.from({ length: size }, () => ({
        type: 'track',
        event: 'acted',
        user_id: `person-${person}`,
        message_id: randomUUID(),
        properties: { seq: seq++ },
      }));
      const ids = items.map((item) => item.message_id);
      options.ledger.sent(ids);
      const [path, body] =
        size === 1
          ? ['/v1/track', JSON.stringify(items[0])]
          : ['/v1/batch', JSON.stringify({ batch: items })];
      for (let attempt = 0; ; attempt++) {
        report.requests++;
        if (attempt > 0) report.retries++;
        const status = await post(
          `${options.ready.ingest_url}${path}`,
          options.account.writeKey,
          body,
        );
        if (status === 200) {
          options.ledger.answered(ids);
          break;
        }
        if (status !== 0 && status !== 503) report.refusals.push(`${path} answered ${status}`);
        if (Date.now() > deadline) break;
        await sleep(Math.random() * Math.min(1000, 50 * 2 ** attempt));
      }
      await sleep(options.pause);
    }
  });
  return {
    async stop() {
      running = false;
      deadline = Date.now() + 60_000;
      await Promise.all(people);
      return report;
    },
  };
}

/** Status of the answer; 0 when there was none. */
async function post(url: string, writeKey: string, body: string): Promise<number> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${writeKey}` },
      body,
      signal: AbortSignal.timeout(20_000),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

export async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
