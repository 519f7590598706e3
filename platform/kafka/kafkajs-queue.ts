import { createRequire } from 'node:module';

/** The queue of one broker's connection in kafkajs. */
interface RequestQueue {
  pending: unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

const { prototype } = createRequire(import.meta.url)(
  'kafkajs/src/network/requestQueue/index.js',
) as { prototype: RequestQueue };

/**
 * After its first answer a connection of kafkajs 2.2.4 looks for waiting requests every ms until it
 * is closed, over a timer with a negative delay (of which Node warns: TimeoutNegativeWarning). Its
 * queue is looked at when a request is added and when one is answered; time alone changes it only
 * while requests wait.
 */
export function checkQueuesWhenRequestsWait(): void {
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
}
