import {
  PublishFailed,
  type LogProducer,
  type OutgoingRecord,
} from '../../../platform/kafka/producer.ts';
import { rawValuesIn } from '../../../schemas/raw-batch.ts';
import type { LogConnection } from '../connect-log.ts';

/** What the log does with a record: `late` and `ambiguous` append it first. */
export type Behaviour = 'ack' | 'late' | 'slow' | 'ambiguous' | 'lost' | 'silent' | 'throw';

type Done = Parameters<LogProducer['send']>[1];

interface Pending {
  record: OutgoingRecord;
  done: Done;
}

const TOO_LARGE = 10;
const TIMED_OUT = -192;

/**
 * A log that fails on demand; the real one cannot. Like the idempotent client with gap-less
 * guarantee, a producer appends nothing after a record that it gave up, in any partition, and one
 * whose partition does not answer keeps its records in order until it does, or is closed.
 */
export class ModelLog {
  /** Raw records; those of a batch one by one. */
  readonly appended: OutgoingRecord[] = [];
  /** How many of them came in batches. */
  inBatches = 0;
  /** Names (topic-partition) that append nothing and answer nothing. */
  readonly down = new Set<string>();
  isUp = true;
  /** Attempts to connect that fail. */
  connectFailures = 0;
  /** A larger value is refused. */
  largest = Infinity;
  /** What Kafka says about the largest record; undefined: nothing. */
  limit: number | undefined;
  sends = 0;
  connects = 0;
  readonly partitions: number;
  /** Behaviour of the next records; then they are acknowledged. */
  readonly script: Behaviour[];
  readonly #producers = new Set<ModelProducer>();

  constructor(options: { partitions?: number; script?: readonly Behaviour[] } = {}) {
    this.partitions = options.partitions ?? 4;
    this.script = [...(options.script ?? [])];
  }

  connect = async ({ isIsolating }: { isIsolating: boolean }): Promise<LogConnection> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.isUp || this.connectFailures-- > 0) throw new Error('no broker');
    this.connects++;
    const producer = new ModelProducer(this, isIsolating);
    this.#producers.add(producer);
    return {
      producer: producer.asProducer(),
      partitions: new Map([['events.raw', this.partitions]]),
      limits: this.limit === undefined ? undefined : new Map([['events.raw', this.limit]]),
    };
  };

  /** Records of a partition that producers have sent and the log has not processed. */
  pending(name: string): number {
    return [...this.#producers].reduce((sum, producer) => sum + producer.pending(name), 0);
  }

  /** Partitions answer again. */
  wake(): void {
    for (const producer of this.#producers) producer.wake();
  }

  /** The processes of all producers are killed. */
  killProducers(): void {
    for (const producer of this.#producers) producer.kill();
    this.#producers.clear();
  }
}

class ModelProducer {
  readonly #log: ModelLog;
  readonly #isIsolating: boolean;
  readonly #queues = new Map<string, Pending[]>();
  readonly #running = new Set<string>();
  /** The record that was given up, or that the producer is closed. */
  #broken: PublishFailed | undefined;
  #isKilled = false;

  constructor(log: ModelLog, isIsolating: boolean) {
    this.#log = log;
    this.#isIsolating = isIsolating;
  }

  asProducer(): LogProducer {
    const send = (record: OutgoingRecord, done: Done) => this.#send(record, done);
    return {
      send,
      publish: (record) =>
        new Promise((resolve, reject) =>
          send(record, (error, offset) => (error ? reject(error) : resolve(offset))),
        ),
      partitions: () => Promise.resolve(this.#log.partitions),
      watermarks: () => Promise.reject(new Error('no watermarks in this model')),
      close: () => {
        setImmediate(() => this.#break(new PublishFailed('the producer was closed', -1)));
        return Promise.resolve();
      },
    };
  }

  pending(name: string): number {
    return this.#queues.get(name)?.length ?? 0;
  }

  wake(): void {
    for (const name of this.#queues.keys()) this.#run(name);
  }

  kill(): void {
    this.#isKilled = true;
  }

  #send(record: OutgoingRecord, done: Done): void {
    this.#log.sends++;
    if (this.#log.script[0] === 'throw') {
      this.#log.script.shift();
      throw new PublishFailed('queue full', -184);
    }
    const name = `${record.topic}-${record.partition}`;
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    // The client has a copy of its own.
    queue.push({ record: { ...record, value: Buffer.from(record.value) }, done });
    setImmediate(() => this.#run(name));
  }

  /** Appends the records of a partition one after the other. */
  #run(name: string): void {
    const queue = this.#queues.get(name) ?? [];
    if (this.#running.has(name)) return;
    this.#running.add(name);
    for (;;) {
      const next = queue[0];
      if (!next || this.#isKilled) break;
      if (this.#broken) {
        queue.shift();
        this.#report(next.done, this.#broken);
        continue;
      }
      if (!this.#log.isUp || this.#log.down.has(name)) break;
      queue.shift();
      if (this.#answer(next) === 'pause') {
        setTimeout(() => {
          this.#running.delete(name);
          this.#run(name);
        }, 3);
        return;
      }
    }
    this.#running.delete(name);
  }

  #answer({ record, done }: Pending): 'pause' | 'go on' {
    const { appended, largest, script } = this.#log;
    if (record.value.length > largest) {
      const error = new PublishFailed('too large', TOO_LARGE);
      if (!this.#isIsolating) this.#break(new PublishFailed('gap-less', -155));
      this.#report(done, error);
      return 'go on';
    }
    const behaviour = script.shift() ?? 'ack';
    if (behaviour !== 'lost' && behaviour !== 'silent') {
      const values = rawValuesIn(record.value);
      if (values.length > 1) this.#log.inBatches += values.length;
      for (const value of values) appended.push({ ...record, value });
    }
    if (behaviour === 'late') setTimeout(() => this.#report(done, undefined), 60);
    else if (behaviour === 'ambiguous' || behaviour === 'lost') {
      this.#break(new PublishFailed('gap-less', -155));
      this.#report(done, new PublishFailed('timed out', TIMED_OUT));
    } else if (behaviour === 'silent') this.#broken ??= new PublishFailed('gap-less', -155);
    else this.#report(done, undefined);
    return behaviour === 'slow' ? 'pause' : 'go on';
  }

  #report(done: Done, error: PublishFailed | undefined): void {
    if (!this.#isKilled) done(error, error ? -1 : 0);
  }

  #break(error: PublishFailed): void {
    this.#broken ??= error;
    for (const name of this.#queues.keys()) setImmediate(() => this.#run(name));
  }
}
