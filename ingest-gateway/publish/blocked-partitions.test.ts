import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Flow } from './in-flight.ts';
import { mayBlock, silentPartitions } from './silence.ts';
import { ModelLog } from './testing/model-log.ts';
import {
  makeFolder,
  record,
  TIMEOUT,
  until,
  withPublisher,
  type UnderTest,
} from './testing/publisher-under-test.ts';

const P0 = 'events.raw-0';

/** First occurrences of a partition. */
function firstOccurrences({ appended }: ModelLog, partition: number): number[] {
  const own = appended.filter((one) => one.partition === partition);
  return [...new Set(own.map((one) => Number(one.value)))];
}

/** Publishes a record each to partitions 0 and 1, again and again; stops with all answers. */
function startLoad({ publisher }: UnderTest) {
  const load = { isOn: true, next: 0, refused: 0 };
  const answers: Promise<void>[] = [];
  const running = (async () => {
    while (load.isOn) {
      const both = [record(load.next, { partition: 0 }), record(load.next, { partition: 1 })];
      for (const one of both)
        answers.push(
          publisher.publish([one]).then((refused) => void (load.refused += refused.length)),
        );
      load.next++;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  return {
    load,
    stop: async () => {
      load.isOn = false;
      await running;
      await Promise.all(answers);
    },
  };
}

const complete = ({ publisher, spool }: UnderTest) =>
  until(() => publisher.phase === 'direct' && spool.isEmpty && publisher.inFlight.records === 0);

describe('a partition that cannot be written while others can', () => {
  it('has a queue of its own: the others stay direct, and its records arrive in order', async () => {
    const model = new ModelLog();
    await withPublisher(model, async (under) => {
      const { publisher, spool, folder } = under;
      await until(() => publisher.phase === 'direct');
      const { load, stop } = startLoad(under);
      await until(() => load.next > 5);
      model.down.add(P0);
      await until(() => publisher.blockedPartitions.length === 1);
      expect(publisher.blockedPartitions[0]).toMatchObject({ topic: 'events.raw', partition: 0 });
      expect(publisher.phase).toBe('direct');
      const [at, spooled] = [load.next, publisher.counters.spooled];
      await until(() => load.next > at + 20 && publisher.counters.spooled > spooled + 10);
      expect(await readdir(join(folder, 'partitions'))).toEqual([P0]);
      expect(publisher.counters.failures).toBe(0);
      model.down.clear();
      model.wake();
      await until(() => publisher.blockedPartitions.length === 0);
      await stop();
      await complete(under);
      const all = Array.from({ length: load.next }, (_, number) => number);
      expect(load.refused).toBe(0);
      expect(firstOccurrences(model, 0)).toEqual(all);
      expect(firstOccurrences(model, 1)).toEqual(all);
      expect([spool.records, spool.events.total]).toEqual([0, 0]);
      await until(() => spool.bytes === 0);
    });
  });

  it('is found by the drain of the spool, which moves its records aside', async () => {
    const model = new ModelLog();
    model.isUp = false;
    await withPublisher(model, async (under) => {
      const { publisher } = under;
      const { load, stop } = startLoad(under);
      await until(() => load.next > 10);
      model.down.add(P0);
      model.isUp = true;
      await until(() => publisher.phase === 'direct');
      expect(publisher.blockedPartitions.length).toBe(1);
      expect(firstOccurrences(model, 1).length).toBeGreaterThan(9);
      model.down.clear();
      model.wake();
      await until(() => publisher.blockedPartitions.length === 0);
      await stop();
      await complete(under);
      const all = Array.from({ length: load.next }, (_, number) => number);
      expect([load.refused, firstOccurrences(model, 0)]).toEqual([0, all]);
      expect(firstOccurrences(model, 1)).toEqual(all);
    });
  });

  it('keeps its queue over restarts', async () => {
    const model = new ModelLog();
    const folder = await makeFolder();
    let next = 0;
    model.down.add(P0);
    for (let starts = 0; starts < 3; starts++) {
      await withPublisher(
        model,
        async (under) => {
          const { load, stop } = startLoad(under);
          load.next = next;
          await until(() => under.publisher.blockedPartitions.length === 1);
          await until(() => under.publisher.phase === 'direct');
          await stop();
          expect(load.refused).toBe(0);
          next = load.next;
        },
        { folder },
      );
      model.killProducers();
    }
    model.down.clear();
    await withPublisher(model, complete, { folder });
    const all = Array.from({ length: next }, (_, number) => number);
    // A start numbers from where the one before stopped; its first number may repeat.
    expect(firstOccurrences(model, 0)).toEqual(all);
    expect(firstOccurrences(model, 1)).toEqual(all);
    await rm(folder, { recursive: true, maxRetries: 5 });
  });

  it('keeps what it holds in memory before what is spooled after a failure of Kafka', async () => {
    const model = new ModelLog();
    await withPublisher(model, async (under) => {
      const { publisher } = under;
      await until(() => publisher.phase === 'direct');
      const answers: Promise<unknown>[] = [];
      const publish = (number: number, partition: number) =>
        answers.push(publisher.publish([record(number, { partition })]));
      model.down.add(P0);
      publish(0, 0);
      for (let other = 100; publisher.blockedPartitions.length === 0; other++) {
        publish(other, 1);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await Promise.all(answers);
      await until(() => model.pending(P0) === 2);
      // The main producer and that of the queue append record 0, and acknowledge it later.
      model.script.push('late', 'late');
      model.down.clear();
      model.wake();
      // The queue is almost empty: record 1 waits in memory while record 0 is in flight.
      publish(1, 0);
      model.script.push('lost');
      model.connectFailures = Infinity;
      publish(99, 1);
      await until(() => publisher.phase !== 'direct');
      publish(2, 0);
      await new Promise((resolve) => setTimeout(resolve, 2 * TIMEOUT));
      model.connectFailures = 0;
      await complete(under);
      await until(() => publisher.blockedPartitions.length === 0);
      await Promise.all(answers);
      expect(firstOccurrences(model, 0)).toEqual([0, 1, 2]);
    });
  });

  it('does not change the order when all of Kafka fails meanwhile', async () => {
    const model = new ModelLog();
    await withPublisher(model, async (under) => {
      const { publisher } = under;
      await until(() => publisher.phase === 'direct');
      const { load, stop } = startLoad(under);
      model.down.add(P0);
      await until(() => publisher.blockedPartitions.length === 1);
      model.isUp = false;
      await until(() => publisher.phase !== 'direct');
      model.isUp = true;
      model.wake();
      await until(() => publisher.phase === 'direct');
      model.down.clear();
      model.wake();
      await until(() => publisher.blockedPartitions.length === 0);
      await stop();
      await complete(under);
      const all = Array.from({ length: load.next }, (_, number) => number);
      expect(load.refused).toBe(0);
      expect(firstOccurrences(model, 0)).toEqual(all);
      expect(firstOccurrences(model, 1)).toEqual(all);
    });
  });
});

describe('the decision which partitions have queues of their own', () => {
  const flow = (of: { since?: number; acknowledged?: number }) =>
    ({
      records: of.since === undefined ? 0 : 1,
      oldest: of.since === undefined ? undefined : { activeSince: of.since },
      lastAcknowledged: of.acknowledged ?? -Infinity,
    }) as unknown as Flow;

  it('finds those whose records wait while nothing of them was acknowledged', () => {
    const stuck = flow({ since: 100 });
    const slow = flow({ since: 100, acknowledged: 950 });
    const fresh = flow({ since: 900 });
    const flows = [stuck, slow, fresh, flow({ acknowledged: 10 })];
    expect(silentPartitions(flows, { timeout: 500, clock: 1000 })).toEqual({
      silent: [stuck],
      isAnyAlive: true,
    });
  });

  it('sees no life in acknowledgements from before the silence', () => {
    const flows = [flow({ since: 400 }), flow({ acknowledged: 450 })];
    expect(silentPartitions(flows, { timeout: 500, clock: 1000 }).isAnyAlive).toBe(false);
  });

  it.each([
    [{ blocked: 0, more: 4, partitions: 8 }, true],
    [{ blocked: 2, more: 3, partitions: 8 }, false],
    [{ blocked: 0, more: 1, partitions: 0 }, true],
    [{ blocked: 60, more: 5, partitions: 1000 }, false],
  ])('takes more than half of the partitions, or 64, for an outage of Kafka: %j', (of, expected) =>
    expect(mayBlock(of)).toBe(expected),
  );
});
