import type { AppendLimits } from '../spool/append-queue.ts';
import type { SpoolQueue } from '../spool/spool-queue.ts';
import type { Entry } from './in-flight.ts';

/** Appends to a queue of the spool and completes the entry. */
export type Append = (entry: Entry, to: { queue: SpoolQueue; limits: AppendLimits }) => void;

/** How accepted records end: durable or refused. Completes the publishes that wait for them. */
export class Completions {
  readonly #onCompleted: () => void;
  readonly counters = {
    acknowledged: 0,
    spooled: 0,
    refused: 0,
    drained: 0,
    failures: 0,
    setAside: 0,
    tooLarge: 0,
  };

  /** @param onCompleted called after each: there may be room for what waits */
  constructor(onCompleted: () => void) {
    this.#onCompleted = onCompleted;
  }

  readonly append: Append = (entry, { queue, limits }) => {
    queue.append(
      entry.record,
      (error) => {
        if (error) return this.refuse(entry);
        this.counters.spooled++;
        if (!entry.isComplete) entry.record.onSpooled?.();
        this.#complete(entry, true);
      },
      limits,
    );
  };

  acknowledge(entry: Entry): void {
    this.counters.acknowledged++;
    this.#complete(entry, true);
  }

  refuseTooLarge(entry: Entry): void {
    this.counters.tooLarge++;
    this.refuse(entry);
  }

  refuse(entry: Entry): void {
    this.counters.refused++;
    this.#complete(entry, false);
  }

  /** Only the first result of an entry counts; it may come from an earlier producer. */
  #complete(entry: Entry, isDurable: boolean): void {
    if (entry.isComplete) return;
    entry.isComplete = true;
    entry.flow?.remove(entry);
    const { waiter } = entry;
    if (!isDurable) waiter.refused.push(entry.record);
    if (--waiter.left === 0) waiter.resolve(waiter.refused);
    this.#onCompleted();
  }
}
