import { randomUUID } from 'node:crypto';
import { openQueueFile } from './queue-file.ts';
import { Queue, type Waiting } from './queue.ts';
import { Sender } from './sender.ts';
import { beforeTheEnd } from './termination.ts';
import {
  RavandError,
  type AliasCall,
  type Balance,
  type EventName,
  type EventOptions,
  type IdentifyCall,
  type Listeners,
  type PageCall,
  type Properties,
  type RavandOptions,
  type TrackCall,
} from './types.ts';

const LIBRARY = { name: 'ravand-node', version: '1.0.0' };
const FLUSH_MS = 30_000;

interface Fields extends EventOptions {
  userId?: string;
  anonymousId?: string;
}

/** Sends events to the ingest host. Calls return the message id at once, and never throw. */
export class Ravand {
  readonly #queue: Queue;
  readonly #sender: Sender;
  readonly #flushAt: number;
  readonly #flushInterval: number;
  readonly #client = randomUUID();
  readonly #balance: Balance = { made: 0, stored: 0, sent: 0, dropped: {} };
  readonly #listeners: { [K in keyof Listeners]: ((value: Listeners[K]) => void)[] } = {
    sent: [],
    rejected: [],
    error: [],
  };
  readonly #forgetTheEnd: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #lastTime = 0;
  #isClosed = false;
  #closing: Promise<{ sent: number; pending: number }> | undefined;

  /** @throws RavandError `configuration`; `queue_file` when another process uses it */
  constructor(options: RavandOptions) {
    const { writeKey, host, maxQueue = 10_000, queueFile, flushOnTermination = 5000 } = options;
    if (!writeKey) throw new RavandError('configuration', 'writeKey is missing');
    if (!URL.canParse(host)) throw new RavandError('configuration', `host is no address: ${host}`);
    this.#flushAt = options.flushAt ?? 100;
    this.#flushInterval = options.flushInterval ?? 1000;
    const failed = (error: RavandError) => this.#emit('error', error);
    const kept = queueFile ? openQueueFile(queueFile, failed) : {};
    this.#queue = new Queue(maxQueue, kept);
    this.#sender = new Sender({
      ...{ host: host.replace(/\/+$/, ''), writeKey, queue: this.#queue, failed },
      context: () => ({ library: { ...LIBRARY, client: this.#client, balance: this.#balance } }),
      sent: (events) => {
        this.#balance.sent += events.length;
        this.#emit('sent', idsOf(events));
      },
      dropped: (events, cause, reason) => this.#dropped(events, cause, reason),
      refused: ({ status, body }) => {
        const message = `the host answered ${status}: ${body.message ?? ''}`;
        // With a wrong key everything is lost, and nobody who does not listen would know.
        if (status === 401 && this.#listeners.error.length === 0)
          console.error(`ravand: ${message}`);
        failed(new RavandError('refused', message, { status }));
      },
    });
    if (flushOnTermination > 0)
      this.#forgetTheEnd = beforeTheEnd({
        close: () => this.close(flushOnTermination),
        flush: () => this.flush(flushOnTermination),
        exit: () => this.#queue.exit(),
      });
    if (this.#queue.size > 0) this.#flushSoon();
  }

  track<E extends EventName>(call: TrackCall<E>): string {
    return this.#make('track', call, { event: call.event, properties: call.properties });
  }

  identify(call: IdentifyCall): string {
    return this.#make('identify', call, { traits: call.traits });
  }

  page(call: PageCall): string {
    return this.#make('page', call, { event: call.name, properties: call.properties });
  }

  screen(call: PageCall): string {
    return this.#make('screen', call, { event: call.name, properties: call.properties });
  }

  alias(call: AliasCall): string {
    return this.#make('alias', call, { previous_id: call.previousId });
  }

  /**
   * Sends what waits, and tries again what the host cannot take now, for at most `deadlineMs`.
   * @returns what was sent meanwhile, and what waits
   */
  async flush(deadlineMs = FLUSH_MS): Promise<{ sent: number; pending: number }> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const before = this.#balance.sent;
    const until = Date.now() + deadlineMs;
    for (;;) {
      await within(until, this.#sender.drain());
      const { heldFor } = this.#sender;
      if (this.#queue.size === 0 || Date.now() + heldFor >= until) break;
      await within(until, new Promise((resolve) => setTimeout(resolve, heldFor + 1)));
    }
    return { sent: this.#balance.sent - before, pending: this.#queue.size };
  }

  /** Flushes, and keeps the rest in the queue file. Calls afterwards are dropped (`closed`). */
  close(deadlineMs = 5000): Promise<{ sent: number; pending: number }> {
    return (this.#closing ??= this.#close(deadlineMs));
  }

  async #close(deadlineMs: number): Promise<{ sent: number; pending: number }> {
    const { sent } = await this.flush(deadlineMs);
    this.#isClosed = true;
    this.#sender.stop();
    clearTimeout(this.#timer);
    await this.#queue.close().catch((error: unknown) => this.#emit('error', error as RavandError));
    this.#forgetTheEnd();
    return { sent, pending: this.#queue.size };
  }

  /** Of this process: what was made and found in the queue file = sent + dropped + pending. */
  get balance(): Balance & { pending: number } {
    return { ...structuredClone(this.#balance), pending: this.#queue.size };
  }

  on<K extends keyof Listeners>(name: K, listen: (value: Listeners[K]) => void): this {
    this.#listeners[name].push(listen);
    return this;
  }

  #make(type: string, of: Fields, fields: Properties): string {
    const time = (this.#lastTime = Math.max(Date.now(), this.#lastTime + 1));
    const id = of.messageId ?? randomUUID();
    const event: Waiting = { id, json: '', attemptedAt: undefined };
    this.#balance.made++;
    if (this.#isClosed) {
      this.#dropped([event], 'closed', 'the SDK is closed');
      return id;
    }
    try {
      event.json = JSON.stringify({
        ...{ type, message_id: id, timestamp: timeOf(of.timestamp) ?? new Date(time) },
        ...{ user_id: of.userId, anonymous_id: of.anonymousId, ...fields },
        context: { library: LIBRARY, ...of.context },
      });
    } catch (cause) {
      this.#dropped([event], 'invalid', `JSON cannot hold it: ${String(cause)}`);
      return id;
    }
    this.#balance.stored++;
    const pushedOut = this.#queue.push(event);
    if (pushedOut) {
      const message = 'the queue is full: the oldest event was dropped';
      this.#dropped([pushedOut], 'full', message);
      this.#emit('error', new RavandError('queue_full', message));
    }
    this.#flushSoon();
    return id;
  }

  #dropped(events: readonly Waiting[], cause: string, reason: string): void {
    this.#balance.dropped[cause] = (this.#balance.dropped[cause] ?? 0) + events.length;
    this.#emit('rejected', { ids: idsOf(events), reason });
  }

  /** The timer keeps the process alive: what is only in memory is sent before it ends. */
  #flushSoon(): void {
    if (this.#queue.size >= this.#flushAt) void this.#sender.drain();
    else
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        void this.#sender.drain();
      }, this.#flushInterval);
  }

  #emit<K extends keyof Listeners>(name: K, value: Listeners[K]): void {
    // What a listener throws is an error of the program.
    for (const listen of this.#listeners[name]) queueMicrotask(() => listen(value));
  }
}

const idsOf = (events: readonly Waiting[]): string[] => events.map(({ id }) => id);

function timeOf(given: EventOptions['timestamp']): Date | undefined {
  const time = given === undefined ? undefined : new Date(given);
  return time && !Number.isNaN(time.getTime()) ? time : undefined;
}

/** Resolves with the promise, or at the time. */
async function within(until: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise((resolve) => {
    timer = setTimeout(resolve, until - Date.now());
  });
  await Promise.race([promise, deadline]).finally(() => clearTimeout(timer));
}
