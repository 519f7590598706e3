import type { Log } from '../../platform/log.ts';
import type { AppendLimits } from '../spool/append-queue.ts';
import type { SpoolQueue } from '../spool/spool-queue.ts';
import type { Completions } from './completions.ts';
import type { DrainedQueue } from './drained-queue.ts';
import type { Entry, Flow, InFlight } from './in-flight.ts';
import type { LogSender } from './log-sender.ts';
import type { Waiting } from './waiting.ts';

interface RecordRouterOptions {
  main: DrainedQueue;
  /** That of `main`. */
  queue: SpoolQueue;
  inFlight: InFlight;
  waiting: Waiting;
  completions: Completions;
  sender: LogSender;
  /** Bytes that may wait for acknowledgements. */
  maxInFlightBytes: number;
  log: Log;
}

/** Decides where an accepted record goes: to Kafka, into memory, to disk. Keeps their order. */
export class RecordRouter {
  readonly #options: RecordRouterOptions;
  #isPumping = false;

  constructor(options: RecordRouterOptions) {
    this.#options = options;
  }

  accept(entry: Entry): void {
    const { main, queue, inFlight, waiting, completions, maxInFlightBytes } = this.#options;
    const { topic, value } = entry.record;
    if (value.length > inFlight.limitOf(topic)) return completions.refuseTooLarge(entry);
    switch (main.route) {
      case 'log': {
        const flow = this.#flowOf(entry);
        if (inFlight.bytes + value.length <= maxInFlightBytes && waiting.mayPass(entry, flow))
          return this.#dispatch(entry, { flow, limits: 'memory_and_disk' });
        if (!waiting.push(entry, flow)) return completions.refuse(entry);
        // A record that is larger than the limit is sent when nothing is in flight.
        return this.pump();
      }
      case 'hold':
        this.#flowOf(entry).push(entry);
        if (inFlight.bytes > maxInFlightBytes) main.emit('overflowed');
        return;
      case 'spool':
        return completions.append(entry, { queue, limits: 'memory_and_disk' });
      case 'refuse':
        return completions.refuse(entry);
    }
  }

  /** A record that was accepted before, in whatever phase the publisher is. */
  resume(entry: Entry): void {
    const { main, queue, completions } = this.#options;
    entry.sends = Infinity;
    // Neither the limit of what is in flight nor a turn applies.
    if (main.route === 'log') this.#dispatch(entry, { flow: this.#flowOf(entry), limits: 'disk' });
    else completions.append(entry, { queue, limits: 'disk' });
  }

  /** Sends waiting records while there is room; a record that is refused at once calls it again. */
  pump(): void {
    const { main, inFlight, waiting, maxInFlightBytes } = this.#options;
    if (this.#isPumping || waiting.records === 0) return;
    this.#isPumping = true;
    while (main.route === 'log') {
      const room = inFlight.records === 0 ? Infinity : maxInFlightBytes - inFlight.bytes;
      const entry = waiting.take(room);
      if (!entry) break;
      this.#dispatch(entry, { flow: this.#flowOf(entry), limits: 'disk' });
    }
    this.#isPumping = false;
  }

  #flowOf({ record: { topic, partition } }: Entry): Flow {
    return this.#options.inFlight.of(topic, partition);
  }

  /** To Kafka, or to the side of a partition that cannot be written. */
  #dispatch(entry: Entry, { flow, limits }: { flow: Flow; limits: AppendLimits }): void {
    if (flow.side) return flow.side.accept(entry, limits);
    flow.push(entry);
    this.#options.sender.send(entry, flow);
  }

  /**
   * What is in flight first, then what waits; each in order. What sides hold in memory is older
   * than what follows in the main queue, so it must not come back behind that.
   */
  spoolHeld(): void {
    const { queue, inFlight, waiting, completions } = this.#options;
    for (const { side } of inFlight.flows) side?.spoolHeld();
    for (const entry of inFlight.removeAll()) completions.append(entry, { queue, limits: 'disk' });
    for (const entry of waiting.removeAll()) completions.append(entry, { queue, limits: 'disk' });
  }

  sendHeld(): void {
    const { main, inFlight, sender, log } = this.#options;
    log.info('records go straight to Kafka');
    for (const flow of inFlight.flows)
      for (const entry of flow.side ? flow.removeAll() : flow.entries()) {
        if (flow.side) flow.side.accept(entry, 'disk');
        else if (main.route === 'log') sender.send(entry, flow);
      }
  }
}
