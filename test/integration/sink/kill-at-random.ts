import type { ChildProcess } from 'node:child_process';
import type { OwnServer } from './own-servers.ts';
import type { SinkUnderTest } from './sink-under-test.ts';

const DAY = 86_400_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Publishes runs as a normaliser does that crashes now and then: some begin again behind the last
 * place.
 */
export class Traffic {
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
          // Accounts of every shard.
          account_id: 1 + (index % 4),
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

export async function killed(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/**
 * Kills the sink and its servers with kill -9, `kills` times at random instants, one after the
 * other in turns. Resolves with the sink that runs then.
 */
export async function killAtRandom(
  sink: SinkUnderTest,
  { kills, servers }: { kills: number; servers: readonly OwnServer[] },
): Promise<ChildProcess> {
  let child = sink.start('one');
  await sleep(2000);
  for (let kill = 0; kill < kills; kill++) {
    await sleep(100 + Math.random() * 1500);
    const server = kill % 3 === 2 ? servers[Math.floor(kill / 3) % servers.length] : undefined;
    await server?.kill();
    if (!server || Math.random() < 0.5) {
      await killed(child);
      child = sink.start('one');
    }
    await server?.start();
  }
  await sleep(1000);
  return child;
}
