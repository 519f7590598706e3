import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PublishFailed, type OutgoingRecord } from '../../platform/kafka/producer.ts';
import { Publisher } from './publisher.ts';

const record = (bytes: number): OutgoingRecord => ({
  topic: 't',
  partition: 0,
  key: null,
  value: Buffer.alloc(bytes),
});

function publisherWith(limit: number) {
  const sent: ((error: PublishFailed | undefined, offset: number) => void)[] = [];
  let full = false;
  const publisher = new Publisher(
    {
      send: (_record, done) => {
        if (full) throw new PublishFailed('queue full', -184);
        sent.push(done);
      },
    },
    limit,
  );
  return { publisher, sent, fillQueue: () => (full = true) };
}

describe('the publisher', () => {
  it('acknowledges a batch when all of its records are acknowledged', async () => {
    const { publisher, sent } = publisherWith(100);
    const batch = publisher.begin();
    batch.send(record(1));
    batch.send(record(1));
    let isDone = false;
    const done = batch.acknowledged().then(() => (isDone = true));
    sent[0]?.(undefined, 0);
    await nextTurn();
    expect(isDone).toBe(false);
    sent[1]?.(undefined, 1);
    await done;
    await publisher.begin().acknowledged();
  });

  it('fails a batch with a failed record, once none of its records is in flight', async () => {
    const { publisher, sent } = publisherWith(100);
    const batch = publisher.begin();
    batch.send(record(1));
    batch.send(record(1));
    let isDone = false;
    const done = batch.acknowledged().finally(() => (isDone = true));
    sent[0]?.(new PublishFailed('timed out', -192), -1);
    await nextTurn();
    expect(isDone).toBe(false);
    expect(() => batch.send(record(1))).toThrow('timed out');
    sent[1]?.(undefined, 1);
    await expect(done).rejects.toThrow('timed out');
  });

  it('fails a batch when the queue of the producer is full', async () => {
    const { publisher, fillQueue } = publisherWith(100);
    const batch = publisher.begin();
    fillQueue();
    expect(() => batch.send(record(1))).toThrow('queue full');
    await expect(batch.acknowledged()).rejects.toThrow('queue full');
    await publisher.waitForCapacity();
  });

  it('waits for capacity while too many bytes are in flight', async () => {
    const { publisher, sent } = publisherWith(100);
    const batch = publisher.begin();
    await publisher.waitForCapacity();
    batch.send(record(70));
    await publisher.waitForCapacity();
    batch.send(record(70));
    let hasCapacity = false;
    const capacity = publisher.waitForCapacity().then(() => (hasCapacity = true));
    await nextTurn();
    expect(hasCapacity).toBe(false);
    sent[0]?.(undefined, 0);
    await capacity;
  });
});
