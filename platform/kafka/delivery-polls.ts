import type kafka from 'node-rdkafka';

/** Errors of the client are polled this often while nothing is in flight, ms. */
const IDLE_POLL_MS = 2000;
/** So long after the last report the frequent polls end, ms. */
const REST_AFTER_MS = 100;

/** Polls often only while records are in flight: a timer of a millisecond costs an idle process. */
export function deliveryPolls(
  producer: Pick<kafka.Producer, 'poll'>,
  { interval, inFlight }: { interval: number; inFlight: () => number },
): { begin(): void; sent(): void; completed(): void; end(): void } {
  let isFrequent = false;
  let timer: NodeJS.Timeout | undefined;
  let resting: NodeJS.Timeout | undefined;
  const poll = (frequent: boolean) => {
    isFrequent = frequent;
    clearInterval(timer);
    // setPollInterval of the client adds a listener with each call.
    timer = setInterval(
      () => {
        try {
          producer.poll();
        } catch {
          // not connected
        }
      },
      frequent ? interval : Math.max(interval, IDLE_POLL_MS),
    ).unref();
  };
  return {
    begin: () => poll(false),
    sent() {
      if (!isFrequent) poll(true);
    },
    completed() {
      if (inFlight() > 0) return;
      resting ??= setTimeout(() => {
        resting = undefined;
        if (inFlight() === 0 && timer) poll(false);
      }, REST_AFTER_MS).unref();
    },
    end() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
