import fc from 'fast-check';
import { cpSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { BufferPool } from '../../platform/buffer-pool.ts';
import { BULK_RECORDS } from './bulk-share.ts';
import { ModelLog, type Behaviour } from './testing/model-log.ts';
import {
  makeFolder,
  openPublisher,
  record,
  until,
  type UnderTest,
} from './testing/publisher-under-test.ts';

/** Steps of a run; each number of `to` is a partition. A batch is one bulk request. */
type Step =
  | { do: 'publish'; to: readonly number[] }
  | { do: 'batch'; accountId: number; to: readonly number[] }
  | { do: 'toggle'; partition: number }
  | { do: 'outage' }
  | { do: 'misbehave'; how: readonly Behaviour[] }
  | { do: 'pause'; ms: number }
  | { do: 'kill' }
  | { do: 'stop' };

const PARTITIONS = [0, 1, 2, 3, 4, 5, 6];
const ACCOUNTS = [1, 2, 3];

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      to: fc.array(fc.constantFrom(...PARTITIONS), { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      accountId: fc.constantFrom(...ACCOUNTS),
      to: fc.array(fc.constantFrom(...PARTITIONS), {
        minLength: BULK_RECORDS + 1,
        maxLength: 2 * BULK_RECORDS,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('toggle' as const), partition: fc.nat(1) }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'outage' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('misbehave' as const),
      how: fc.array(
        fc.constantFrom<Behaviour>('late', 'slow', 'ambiguous', 'lost', 'silent', 'throw'),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('pause' as const), ms: fc.constantFrom(1, 5, 40, 150) }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'kill' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'stop' }) },
);

/** Runs the gateway's publisher against a log that fails, with kills and stops. */
class Run {
  readonly model = new ModelLog({ partitions: PARTITIONS.length });
  /** Numbers of records that were answered as durable. */
  readonly durable = new Set<number>();
  /** Account of each record. */
  readonly accounts: number[] = [];
  readonly #folders: string[] = [];
  readonly #abandoned: UnderTest[] = [];
  /** Of the values: what the publisher gives back is no number any more. */
  #buffers!: BufferPool;
  #under!: UnderTest;
  #answers: Promise<void>[] = [];
  #next = 0;
  /** Rises with every kill: answers of a killed process reach nobody. */
  #life = 0;

  async start(): Promise<void> {
    const folder = await makeFolder();
    this.#folders.push(folder);
    await this.#open(folder);
  }

  async #open(folder: string): Promise<void> {
    this.#buffers = new BufferPool({ minBytes: 1, maxFreeBytes: 4096, fill: 0xff });
    this.#under = await openPublisher(this.model, { folder, buffers: this.#buffers });
  }

  async take(one: Step): Promise<void> {
    const { model } = this;
    switch (one.do) {
      case 'publish':
        for (const partition of one.to) this.#publish([partition], 1 + (this.#next % 3));
        return;
      case 'batch':
        this.#publish(one.to, one.accountId);
        return;
      case 'toggle': {
        const name = `events.raw-${one.partition}`;
        if (!model.down.delete(name)) model.down.add(name);
        model.wake();
        return;
      }
      case 'outage':
        model.isUp = !model.isUp;
        model.wake();
        return;
      case 'misbehave':
        model.script.push(...one.how);
        return;
      case 'pause':
        await new Promise((resolve) => setTimeout(resolve, one.ms));
        return;
      case 'kill':
        return this.#kill();
      case 'stop':
        await this.#under.publisher.close(20);
        await this.#under.spool.close();
        await this.#open(this.#under.folder);
    }
  }

  /** Heals everything, and waits until all records are in the log. */
  async finish(): Promise<void> {
    this.model.down.clear();
    this.model.isUp = true;
    this.model.script.length = 0;
    this.model.wake();
    const { publisher, spool } = this.#under;
    await Promise.all(this.#answers);
    await until(
      () =>
        publisher.phase === 'direct' &&
        spool.isEmpty &&
        publisher.inFlight.records + publisher.waiting.records === 0 &&
        publisher.blockedPartitions.length === 0,
      20_000,
    );
    expect([spool.records, spool.events.total]).toEqual([0, 0]);
  }

  async remove(): Promise<void> {
    for (const { publisher, spool } of [...this.#abandoned, this.#under]) {
      await publisher.close(0);
      await spool.close();
    }
    for (const folder of this.#folders)
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #publish(to: readonly number[], accountId: number): void {
    const first = this.#next;
    this.#next += to.length;
    const records = to.map((partition, at) => {
      const one = record(first + at, { partition, accountId });
      const value = this.#buffers.take(one.value.length);
      one.value.copy(value);
      return { ...one, value };
    });
    for (let number = first; number < this.#next; number++) this.accounts[number] = accountId;
    const life = this.#life;
    this.#answers.push(
      this.#under.publisher.publish(records).then((refused) => {
        if (refused.length > 0 || life !== this.#life) return;
        for (const at of to.keys()) this.durable.add(first + at);
      }),
    );
  }

  /** What is on disk at this moment is all that the next process has. */
  async #kill(): Promise<void> {
    const folder = await makeFolder();
    this.#folders.push(folder);
    const killed = this.#under;
    cpSync(killed.folder, folder, { recursive: true });
    this.#life++;
    this.model.killProducers();
    this.#abandoned.push(killed);
    this.#answers = [];
    await this.#open(folder);
  }
}

it('whatever partitions, Kafka and the process do, every answered record is in the log, in order by account and partition', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const run = new Run();
      await run.start();
      try {
        for (const one of steps) await run.take(one);
        await run.finish();
        const { appended } = run.model;
        const found = new Set(appended.map(({ value }) => Number(value)));
        expect([...found].filter((number) => !(number < run.accounts.length))).toEqual([]);
        expect([...run.durable].filter((number) => !found.has(number))).toEqual([]);
        const logs = Object.groupBy(
          appended,
          ({ value, partition }) => `${run.accounts[Number(value)]} ${partition}`,
        );
        for (const records of Object.values(logs)) {
          const first = [...new Set(records?.map(({ value }) => Number(value)))];
          const answered = first.filter((number) => run.durable.has(number));
          expect(answered).toEqual(answered.toSorted((a, b) => a - b));
        }
      } finally {
        await run.remove();
      }
    }),
    { numRuns: Number(process.env['SIMULATION_RUNS'] ?? 25) },
  );
}, 600_000);
