import { describe, expect, it } from 'vitest';
import type { LogRecord } from '../../ingest/log-record.ts';
import { recordsInBatch } from '../../schemas/raw-batch.ts';
import { MAX_RECORD_BYTES, RAW_BATCH_BYTES } from './raw-batch-buffer.ts';
import { ModelLog } from './testing/model-log.ts';
import { record, until, withPublisher, type UnderTest } from './testing/publisher-under-test.ts';

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at);

/** Publishes requests of a record each, and resolves with what Kafka got: numbers by record. */
async function sentFor(
  requests: readonly LogRecord[],
  options: { isWritten?: boolean; limit?: number } = {},
): Promise<number[][]> {
  const model = new ModelLog();
  model.limit = options.limit;
  const sent: number[][] = [];
  await withPublisher(
    model,
    async ({ publisher }: UnderTest) => {
      await until(() => publisher.phase === 'direct');
      const { producer } = publisher;
      const send = producer?.send.bind(producer);
      if (!producer || !send) throw new Error('there is no producer');
      producer.send = (one, done) => {
        const batch = recordsInBatch(one.value);
        sent.push((batch ?? [one]).map(({ value }) => Number(value)));
        if (batch) expect(batch.map(({ firstIndex }) => firstIndex)).toEqual([...batch.keys()]);
        send(one, done);
      };
      const refused = await Promise.all(requests.map((one) => publisher.publish([one])));
      expect(refused.flat()).toEqual([]);
      expect(publisher.inFlight).toMatchObject({ records: 0, bytes: 0 });
    },
    { batches: { linger: 1, isWritten: () => options.isWritten ?? true } },
  );
  return sent;
}

describe('records of several requests for one partition', () => {
  const of = (number: number, changes: Partial<LogRecord> & { bytes?: number } = {}) => {
    const { bytes = 0, ...rest } = changes;
    return { ...record(number, { partition: 0, bytes }), ...rest };
  };

  it('become one record of Kafka, in their order and whatever their accounts', async () => {
    const accounts = [1, 2, 1, 3];
    const requests = numbers(4).map((number) => of(number, { accountId: accounts[number] ?? 1 }));
    expect(await sentFor(requests)).toEqual([[0, 1, 2, 3]]);
  });

  it('stay apart from those of other partitions', async () => {
    const requests = numbers(6).map((number) => of(number, { partition: number % 2 }));
    expect(await sentFor(requests)).toEqual([
      [0, 2, 4],
      [1, 3, 5],
    ]);
  });

  it('are sent before one that must be alone: a large one, a traced one, one with a key', async () => {
    const alone = [
      of(2, { bytes: MAX_RECORD_BYTES }),
      of(5, { headers: [{ traceparent: 'x' }] as unknown as NonNullable<LogRecord['headers']> }),
      of(8, { key: 'k' }),
    ];
    const requests = numbers(10).map(
      (number) => alone.find(({ value }) => Number(value) === number) ?? of(number),
    );
    expect(await sentFor(requests)).toEqual([[0, 1], [2], [3, 4], [5], [6, 7], [8], [9]]);
  });

  it('become several batches above the size of a batch, and below the limit of the topic', async () => {
    const most = RAW_BATCH_BYTES / MAX_RECORD_BYTES;
    const bytes = MAX_RECORD_BYTES - 100;
    const requests = numbers(most + 2).map((number) => of(number, { bytes }));
    expect(await sentFor(requests)).toEqual([numbers(most), numbers(2, most)]);
    const small = numbers(4).map((number) => of(number, { bytes: 100 }));
    expect(await sentFor(small, { limit: 512 + 250 })).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it('stay records of their own while a reader may not know batches', async () => {
    expect(
      await sentFor(
        numbers(3).map((number) => of(number)),
        { isWritten: false },
      ),
    ).toEqual([[0], [1], [2]]);
  });

  it('are each spooled when their batch fails, and follow each other in the log', async () => {
    const model = new ModelLog();
    await withPublisher(model, async ({ publisher, spool }) => {
      await until(() => publisher.phase === 'direct');
      model.script.push('lost');
      const refused = await Promise.all(
        numbers(5).map((number) => publisher.publish([of(number)])),
      );
      expect(refused.flat()).toEqual([]);
      await until(() => publisher.phase === 'direct' && spool.isEmpty);
      expect(publisher.counters.spooled).toBe(5);
      expect(model.appended.map(({ value }) => Number(value))).toEqual(numbers(5));
      await Promise.all(numbers(3, 5).map((number) => publisher.publish([of(number)])));
      expect(model.appended.map(({ value }) => Number(value))).toEqual(numbers(8));
      expect(model.inBatches).toBe(3);
    });
  });
});
