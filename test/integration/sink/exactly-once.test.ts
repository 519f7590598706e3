import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FULL, readyStack } from '../../support/stack.ts';
import { killAtRandom, killed, Traffic } from './kill-at-random.ts';
import { SinkUnderTest } from './sink-under-test.ts';

const KILLS = FULL ? 30 : 6;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('each row is in ClickHouse exactly once', () => {
  let sink: SinkUnderTest;
  let traffic: Traffic;
  beforeAll(async () => {
    sink = await SinkUnderTest.open(readyStack().kafka_brokers);
  });
  afterAll(() => sink.close());

  it('after kill -9 of the sink, of ClickHouse and of PostgreSQL at random instants, and a sink that wakes up after its successor took over', async () => {
    traffic = new Traffic(sink);
    const { clickhouse, postgres } = sink.servers;
    const child = await killAtRandom(sink, { kills: KILLS, servers: [clickhouse, postgres] });

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
