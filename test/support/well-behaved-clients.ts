import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Ledger } from './ledger.ts';
import { sleep } from './stack.ts';

const CLIENTS = 8;

export interface Served {
  /** Milliseconds that 99 of 100 requests took at most. */
  p99: number;
  /** Answers by status; 0: none within 30 s, or the connection was closed. */
  statuses: Record<number, number>;
}

/** Sends single events for `ms`, each client after the answer to the one before. */
export async function wellBehavedClients(
  { url, writeKey, ledger }: { url: string; writeKey: string; ledger: Ledger },
  ms: number,
): Promise<Served> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const statuses: Record<number, number> = {};
  const until = Date.now() + ms;
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      while (Date.now() < until) {
        const message_id = randomUUID();
        const body = JSON.stringify({ event: 'acted', user_id: `person-${client}`, message_id });
        ledger.sent([message_id]);
        const began = performance.now();
        const status = await postEvent({ agent, url, writeKey }, body);
        times.push(performance.now() - began);
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status === 200) ledger.answered([message_id]);
        await sleep(10);
      }
    }),
  );
  agent.destroy();
  times.sort((a, b) => a - b);
  return { p99: times[Math.floor(times.length * 0.99)] ?? Infinity, statuses };
}

function postEvent(
  to: { agent: Agent; url: string; writeKey: string },
  body: string,
): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      `${to.url}/v1/track`,
      {
        agent: to.agent,
        method: 'POST',
        timeout: 30_000,
        headers: {
          authorization: `Bearer ${to.writeKey}`,
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}
