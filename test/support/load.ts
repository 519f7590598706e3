import { randomUUID } from 'node:crypto';
import type { Ready } from '../../cli/stack/ready.ts';
import type { Ledger } from './ledger.ts';
import { sleep, type TestAccount } from './stack.ts';

/** An event as a client sends it (ingest 2.1). */
export type Envelope = { type: string; message_id: string } & Record<string, unknown>;

export interface LoadOptions {
  ready: Ready;
  account: TestAccount;
  ledger: Ledger;
  /** Clients that send at the same time, each one request after the other. */
  people: number;
  /** Pause of a client between two requests, ms. */
  pause: number;
}

export interface Load {
  /** Ends the traffic. Requests in flight are retried until they are answered 200, up to 60 s. */
  stop(): Promise<LoadReport>;
}

export interface LoadReport {
  requests: number;
  retries: number;
  /** Answers other than 200 and 503: a fault on our side must never cause one (G4). */
  refusals: string[];
}

/**
 * Sends the events that `next` makes as a careful SDK does: whatever is not answered 200 is sent
 * again under the same message ids. The ledger records what was sent and answered.
 */
export function startTraffic(
  options: LoadOptions,
  next: (person: number) => readonly Envelope[],
): Load {
  const report: LoadReport = { requests: 0, retries: 0, refusals: [] };
  let running = true;
  let deadline = Number.POSITIVE_INFINITY;
  const send = async (items: readonly Envelope[]) => {
    const ids = items.map(({ message_id }) => message_id);
    const [first] = items;
    const [path, body] =
      first && items.length === 1 ? [`/v1/${first.type}`, first] : ['/v1/batch', { batch: items }];
    options.ledger.sent(ids);
    for (let attempt = 0; Date.now() <= deadline; attempt++) {
      report.requests++;
      if (attempt > 0) report.retries++;
      const status = await post(options, path, JSON.stringify(body));
      if (status === 200) {
        options.ledger.answered(ids);
        return;
      }
      if (status !== 0 && status !== 503) report.refusals.push(`${path} answered ${status}`);
      await sleep(Math.random() * Math.min(1000, 50 * 2 ** attempt));
    }
  };
  const people = Array.from({ length: options.people }, async (_, person) => {
    while (running) {
      await send(next(person));
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

/** Single events and batches. Property `seq` numbers the events of each person. */
export function startLoad(options: LoadOptions): Load {
  const sent = Array.from({ length: options.people }, () => 0);
  return startTraffic(options, (person) => {
    const size = Math.random() < 0.5 ? 1 : 1 + Math.floor(Math.random() * 30);
    const first = sent[person] ?? 0;
    sent[person] = first + size;
    return Array.from({ length: size }, (_, at) => ({
      type: 'track',
      event: 'acted',
      user_id: `person-${person}`,
      message_id: randomUUID(),
      properties: { seq: first + at },
    }));
  });
}

/** Status of the answer; 0 when there was none. */
async function post({ ready, account }: LoadOptions, path: string, body: string): Promise<number> {
  try {
    const response = await fetch(`${ready.ingest_url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.writeKey}` },
      body,
      signal: AbortSignal.timeout(20_000),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
