import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FULL, readyStack } from '../../support/stack.ts';
import { SinkUnderTest } from './sink-under-test.ts';

const KILLS = FULL ? 30 : 6;
const DAY = 86_400_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Publishes runs as a normaliser does that crashes now and then: some begin again behind the last
 * place.
 */
class Traffic {
  readonly #sink: SinkUnderTest;
  readonly #next = [1, 1];
  #running = true;
  readonly #done: Promise<unknown>;

  constructor(sink: SinkUnderTest) {
    this.#sink = sink;
    this.#done = Promise.all([0, 1].map((partition) => this.#run(partition)));
  }

  async stop(): Promise<number> {
    this.#running = false;
    await this.#done;
    return this.#next.reduce((sum, next) => sum + (next - 1) * PER_OFFSET, 0);
  }

  async #run(partition: number): Promise<void> {
    while (this.#running) {
      const next = this.#next[partition] ?? 1;
      const from =
        Math.random() < 0.2 ? Math.max(1, next - 1 - Math.floor(Math.random() * 4)) : next;
      const until = next + 1 + Math.floor(Math.random() * 4);
      const offsets = Array.from({ length: until - from }, (_, n) => from + n);
      const places = offsets.flatMap((offset) =>
        Array.from({ length: PER_OFFSET }, (_, index) => ({
          _offset: offset,
          _index: index,
          event: `e${index % 3}`,
          timestamp: STARTED - ((offset + index) % 90) * DAY,
        })),
      );
      await this.#sink.publish(partition, places);
      this.#next[partition] = until;
      await sleep(Math.random() * 10);
    }
  }
}
const PER_OFFSET = 20;
const STARTED = Date.now();

async function killed(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

describe('each row is in ClickHouse exactly once', () => {
  let sink: SinkUnderTest;
  let traffic: Traffic;
  beforeAll(async () => {
    sink = await SinkUnderTest.open(readyStack().kafka_brokers);
  });
  afterAll(() => sink.close());

  it('after kill -9 of the sink, of ClickHouse and of PostgreSQL at random instants, and a sink that wakes up after its successor took over', async () => {
    let child = sink.start('one');
    traffic = new Traffic(sink);
    await sleep(2000);
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(100 + Math.random() * 1500);
      const server =
        kill % 3 === 2
          ? kill % 2 === 0
            ? sink.servers.clickhouse
            : sink.servers.postgres
          : undefined;
      await server?.kill();
      if (!server || Math.random() < 0.5) {
        await killed(child);
        child = sink.start('one');
      }
      await server?.start();
    }
    await sleep(1000);

    // Stopped in the middle of its work; its session ends, another one takes its partitions, and
    // then it goes on.
    child.kill('SIGSTOP');
    await sleep(500);
    const successor = sink.start('two');
    await sleep(9000);
    child.kill('SIGCONT');
    await sleep(2000);
    const expected = await traffic.stop();
    expect(await sink.untilStored(expected, 100_000)).toEqual({
      stored: expected,
      places: expected,
    });
    await killed(successor);
  });
});
