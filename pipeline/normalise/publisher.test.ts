import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PublishFailed, type OutgoingRecord } from '../../platform/kafka/producer.ts';
import { Publisher } from './publisher.ts';

const record = (bytes: number): OutgoingRecord => ({
  topic: 't',
  partition: 0,
  key: null,
  value: Buffer.alloc(bytes),
});

function outboxWith(limit: number) {
  const sent: ((error: PublishFailed | undefined, offset: number) => void)[] = [];
  let full = false;
  const outbox = new Publisher(
    {
      send: (_record, done) => {
        if (full) throw new PublishFailed('queue full', -184);
        sent.push(done);
      },
    },
    limit,
  );
  return { outbox, sent, fill: () => (full = true) };
}

describe('Outbox', () => {
  it('acknowledges a shipment when all of it is acknowledged', async () => {
    const { outbox, sent } = outboxWith(100);
    const shipment = outbox.begin();
    shipment.send(record(1));
    shipment.send(record(1));
    let isDone = false;
    const done = shipment.acknowledged().then(() => (isDone = true));
    sent[0]?.(undefined, 0);
    await turn();
    expect(isDone).toBe(false);
    sent[1]?.(undefined, 1);
    await done;
    await outbox.begin().acknowledged();
  });

  it('fails a shipment of which one record failed, after nothing of it is under way any more', async () => {
    const { outbox, sent } = outboxWith(100);
    const shipment = outbox.begin();
    shipment.send(record(1));
    shipment.send(record(1));
    let isDone = false;
    const done = shipment.acknowledged().finally(() => (isDone = true));
    sent[0]?.(new PublishFailed('timed out', -192), -1);
    await turn();
    expect(isDone).toBe(false);
    expect(() => shipment.send(record(1))).toThrow('timed out');
    sent[1]?.(undefined, 1);
    await expect(done).rejects.toThrow('timed out');
  });

  it('fails when the producer takes no more', async () => {
    const { outbox, fill } = outboxWith(100);
    const shipment = outbox.begin();
    fill();
    expect(() => shipment.send(record(1))).toThrow('queue full');
    await expect(shipment.acknowledged()).rejects.toThrow('queue full');
    await outbox.waitForCapacity();
  });

  it('holds back while too many bytes are on their way', async () => {
    const { outbox, sent } = outboxWith(100);
    const shipment = outbox.begin();
    await outbox.waitForCapacity();
    shipment.send(record(70));
    await outbox.waitForCapacity();
    shipment.send(record(70));
    let hasRoom = false;
    const room = outbox.waitForCapacity().then(() => (hasRoom = true));
    await turn();
    expect(hasRoom).toBe(false);
    sent[0]?.(undefined, 0);
    await room;
  });
});
