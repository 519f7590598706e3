import { createRequire } from 'node:module';

/** The queue of one broker's connection in kafkajs. */
interface RequestQueue {
  pending: unknown[];
  inflight: Map<number, Request>;
  enforceRequestTimeout: boolean;
  requestTimeoutIntervalId: NodeJS.Timeout | null;
  isConnected: () => boolean;
  /** Ends the interval. */
  destroy: () => void;
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
  scheduleRequestTimeoutCheck: (this: RequestQueue) => void;
}

interface Request {
  sentAt: number;
  requestTimeout: number;
  timeoutRequest: () => void;
}

/** Requests that wait too long are looked for this often, ms. */
const TIMEOUT_CHECK_MS = 1000;

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

/** A connection of kafkajs 2.2.4 looks for late answers ten times a second, even while idle. */
export function checkTimeoutsRarely(): void {
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue) {
    if (!this.enforceRequestTimeout) return;
    this.destroy();
    this.requestTimeoutIntervalId = setInterval(() => {
      for (const request of this.inflight.values())
        if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
      if (!this.isConnected()) this.destroy();
    }, TIMEOUT_CHECK_MS);
  };
}
