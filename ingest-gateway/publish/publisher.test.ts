import fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  PublishFailed,
  type LogProducer,
  type OutgoingRecord,
} from '../../platform/kafka/producer.ts';
import { createLog } from '../../platform/log.ts';
import { openSpool, type Spool } from '../spool/spool.ts';
import { decodePayload } from '../spool/spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';
import { Publisher } from './publisher.ts';

/**
 * What the log does with the next record: take and acknowledge it, take it but report an error,
 * lose it, stay silent, or refuse it at once.
 */
type Behaviour = 'ack' | 'ambiguous' | 'lost' | 'silent' | 'throw' | 'slow';

/**
 * A log that fails on demand; the real one cannot. Like the idempotent client it never takes a
 * record behind one that it gave up.
 */
class FakeLog {
  readonly appended: OutgoingRecord[] = [];
  readonly #script: Behaviour[];
  connectFailures: number;
  largest = Infinity;

  constructor(script: readonly Behaviour[], connectFailures = 0) {
    this.#script = [...script];
    this.connectFailures = connectFailures;
  }

  connect = (): Promise<{ producer: LogProducer; partitions: ReadonlyMap<string, number> }> => {
    if (this.connectFailures-- > 0) return Promise.reject(new Error('no broker'));
    const script = this.#script;
    let isBroken = false;
    const queue: { isSlow: boolean; work: () => void }[] = [];
    const run = () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        next.work();
        if (queue[0]?.isSlow === true) return void setTimeout(run, 5);
      }
    };
    const inTurn = (isSlow: boolean, work: () => void) => {
      queue.push({ isSlow, work });
      if (queue.length === 1) setImmediate(run);
    };
    const send: LogProducer['send'] = (record, done) => {
      if (record.value.length > this.largest)
        return inTurn(false, () => done(new PublishFailed('too large', 10), -1));
      const behaviour = script.shift() ?? 'ack';
      if (behaviour === 'throw') throw new PublishFailed('queue full', -184);
      inTurn(behaviour === 'slow', () => {
        const isAppended = !isBroken && ['ack', 'slow', 'ambiguous'].includes(behaviour);
        if (isAppended) this.appended.push(record);
        isBroken ||= behaviour !== 'ack' && behaviour !== 'slow';
        if (behaviour !== 'silent')
          done(isBroken ? new PublishFailed('timed out', -192) : undefined, 0);
      });
    };
    const publish: LogProducer['publish'] = (record) =>
      new Promise((resolve, reject) =>
        send(record, (error, offset) => (error ? reject(error) : resolve(offset))),
      );
    return Promise.resolve({
      producer: { send, publish, close: () => Promise.resolve() } as unknown as LogProducer,
      partitions: new Map([['events.raw', 4]]),
    });
  };
}

const log = createLog({ part: 'test', level: 'silent' });

async function withPublisher(
  fake: FakeLog,
  work: (publisher: Publisher, spool: Spool) => Promise<void>,
  maxInFlightBytes = 1 << 20,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'ravand-publisher-'));
  const spool = await openSpool({ folder, maxBytes: 1 << 20 });
  const publisher = new Publisher({
    spool,
    connect: fake.connect,
    log,
    timeout: 40,
    maxInFlightBytes,
    retry: { base: 2, cap: 10 },
  });
  try {
    await work(publisher, spool);
  } finally {
    await publisher.close(100);
    await spool.close();
    await rm(folder, { recursive: true });
  }
}

function record(number: number, partition = number % 2): LogRecord {
  return {
    topic: 'events.raw',
    partition,
    key: null,
    value: Buffer.from(String(number)),
    accountId: 1,
    events: 1,
  };
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < 3000; waited += 5)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(condition()).toBe(true);
}

/** First occurrences of each partition. */
function firstOccurrences(appended: readonly OutgoingRecord[], partition: number): number[] {
  return [
    ...new Set(
      appended.filter((one) => one.partition === partition).map((one) => Number(one.value)),
    ),
  ];
}

describe('the publisher', () => {
  it('delivers every durable record, in order within its partition, whatever Kafka does', async () => {
    const behaviours = fc.array(
      fc.oneof(
        { weight: 6, arbitrary: fc.constant<Behaviour>('ack') },
        {
          weight: 1,
          arbitrary: fc.constantFrom<Behaviour>('ambiguous', 'lost', 'silent', 'throw', 'slow'),
        },
      ),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(
        behaviours,
        fc.nat(2),
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 15 }),
        async (script, connectFailures, groups) => {
          const fake = new FakeLog(script, connectFailures);
          await withPublisher(fake, async (publisher, spool) => {
            let next = 0;
            const answers: Promise<readonly LogRecord[]>[] = [];
            for (const [at, size] of groups.entries()) {
              answers.push(publisher.publish(Array.from({ length: size }, () => record(next++))));
              if (at % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
            }
            for (const refused of await Promise.all(answers)) expect(refused).toEqual([]);
            await until(
              () =>
                publisher.phase === 'direct' && spool.isEmpty && publisher.inFlight.records === 0,
            );
            for (const partition of [0, 1]) {
              const expected = Array.from({ length: next }, (_, number) => number).filter(
                (number) => number % 2 === partition,
              );
              expect(firstOccurrences(fake.appended, partition)).toEqual(expected);
            }
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  it('spools while Kafka is unreachable and drains the spool afterwards', async () => {
    const fake = new FakeLog([], 1_000_000);
    await withPublisher(fake, async (publisher, spool) => {
      expect(await publisher.publish([record(0), record(1)])).toEqual([]);
      expect(spool.records).toBe(2);
      fake.connectFailures = 0;
      await until(() => publisher.phase === 'direct');
      expect(fake.appended.map((one) => one.value.toString())).toEqual(['0', '1']);
      expect(spool.bytes).toBe(0);
    });
  });

  it('names the refused records when the spool refuses them too', async () => {
    await withPublisher(new FakeLog([], 1_000_000), async (publisher, spool) => {
      const large = { ...record(0), value: Buffer.alloc(spool.maxBytes) };
      expect(await publisher.publish([record(1), large])).toEqual([large]);
    });
  });

  it('spools when too many bytes are in flight', async () => {
    const fake = new FakeLog(Array<Behaviour>(20).fill('slow'));
    const check = async (publisher: Publisher) => {
      await until(() => publisher.phase === 'direct');
      const answers = Array.from({ length: 10 }, (_, number) =>
        publisher.publish([
          { ...record(number, 0), value: Buffer.from(String(number).padStart(8)) },
        ]),
      );
      expect((await Promise.all(answers)).flat()).toEqual([]);
      expect(publisher.counters.spooled).toBeGreaterThan(0);
      await until(() => publisher.phase === 'direct');
      expect(firstOccurrences(fake.appended, 0)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    };
    await withPublisher(fake, check, 50);
  });

  it('publishes directly again under constant load', async () => {
    const fake = new FakeLog(['lost']);
    await withPublisher(fake, async (publisher) => {
      const load = { isOn: true };
      let next = 0;
      const loading = (async () => {
        while (load.isOn) {
          void publisher.publish([record(next++, 0)]);
          if (next % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      await until(() => publisher.counters.failures > 0);
      await until(() => publisher.phase === 'direct');
      load.isOn = false;
      await loading;
      await until(() => publisher.inFlight.records === 0);
      const order = firstOccurrences(fake.appended, 0);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    });
  });

  it('quarantines only the record that Kafka always refuses', async () => {
    const fake = new FakeLog([], 2);
    fake.largest = 10;
    await withPublisher(fake, async (publisher, spool) => {
      const large = { ...record(1), value: Buffer.from('larger than ten') };
      expect(
        (
          await Promise.all([
            publisher.publish([record(0)]),
            publisher.publish([large]),
            publisher.publish([record(2)]),
          ])
        ).flat(),
      ).toEqual([]);
      await until(() => publisher.phase === 'direct');
      expect(new Set(fake.appended.map((one) => one.value.toString()))).toEqual(
        new Set(['0', '2']),
      );
      expect([publisher.counters.setAside, spool.quarantine.found]).toEqual([1, 1]);
    });
  });

  it('spools records in flight when it closes', async () => {
    const fake = new FakeLog(['silent']);
    const folder = await mkdtemp(join(tmpdir(), 'ravand-publisher-'));
    const spool = await openSpool({ folder, maxBytes: 1 << 20 });
    const publisher = new Publisher({
      spool,
      connect: fake.connect,
      log,
      timeout: 60_000,
      maxInFlightBytes: 1 << 20,
    });
    await until(() => publisher.phase === 'direct');
    const answer = publisher.publish([record(0)]);
    await publisher.close(20);
    expect(await answer).toEqual([]);
    await spool.close();
    const again = await openSpool({ folder, maxBytes: 1 << 20 });
    expect(
      (await again.read(1000)).map((frame) => decodePayload(frame.payload)?.value.toString()),
    ).toEqual(['0']);
    await again.close();
    await rm(folder, { recursive: true });
  });
});
