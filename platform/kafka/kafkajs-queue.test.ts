import { createRequire } from 'node:module';
import { once } from 'node:events';
import type { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import './connection.ts';

interface Queue extends EventEmitter {
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  push(request: {
    entry: { correlationId: number; resolve: () => void; reject: (error: Error) => void };
    expectResponse: boolean;
    sendRequest: () => void;
  }): void;
  fulfillRequest(response: { correlationId: number; payload: null; size: number }): void;
  maybeThrottle(ms: number): void;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
}

const RequestQueue = createRequire(import.meta.url)(
  'kafkajs/src/network/requestQueue/index.js',
) as new (options: Record<string, unknown>) => Queue;

function newQueue(options: Record<string, unknown> = {}): {
  queue: Queue;
  sent: number[];
  send: (correlationId: number) => void;
} {
  const sent: number[] = [];
  const queue = new RequestQueue({
    ...{ maxInFlightRequests: null, requestTimeout: 1000, enforceRequestTimeout: false },
    ...{ clientId: 'test', broker: 'none', logger: { debug: () => undefined } },
    ...options,
  });
  const send = (correlationId: number) =>
    queue.push({
      entry: {
        ...{ correlationId, resolve: () => undefined },
        reject: (error) => queue.emit('rejected', error),
      },
      expectResponse: true,
      sendRequest() {
        sent.push(correlationId);
        queue.emit('sent');
      },
    });
  return { queue, sent, send };
}

it('a connection whose requests are all answered runs no timer', () => {
  const { queue, sent, send } = newQueue();
  send(1);
  queue.fulfillRequest({ correlationId: 1, payload: null, size: 0 });
  expect(sent).toEqual([1]);
  expect(queue.throttleCheckTimeoutId).toBeNull();
});

it('a request that the broker throttles is sent when the time has come', async () => {
  const { queue, sent, send } = newQueue();
  queue.maybeThrottle(30);
  send(1);
  send(2);
  expect(sent).toEqual([]);
  await once(queue, 'sent');
  expect(sent).toEqual([1, 2]);
  expect(queue.throttleCheckTimeoutId).toBeNull();
});

it('a request without an answer is rejected', async () => {
  const { queue, send } = newQueue({
    ...{ requestTimeout: 1, enforceRequestTimeout: true, isConnected: () => true },
  });
  try {
    queue.scheduleRequestTimeoutCheck();
    send(3);
    const [error] = (await once(queue, 'rejected')) as [Error];
    expect(error.message).toContain('timed out');
  } finally {
    queue.destroy();
  }
});
