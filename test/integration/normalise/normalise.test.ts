import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ready } from '../../../cli/stack/ready.ts';
import { sampleRecord } from '../../../events/testing/raw-records.ts';
import { rawRecordCodec } from '../../../schemas/codec.ts';
import type { DeadLetter } from '../../../schemas/records.ts';
import {
  createAccount,
  eventually,
  serviceStatus,
  ravand,
  readyStack,
  rows,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { freshEvents, RawLog } from './raw-log.ts';

const TIMEOUT = 60_000;

describe('the normaliser on the real stack', () => {
  let ready: Ready;
  const client = openClickhouse();
  let log: RawLog;
  let account_id: number;
  beforeAll(async () => {
    ready = readyStack();
    log = await RawLog.open();
    account_id = (await createAccount('normaliser')).accountId;
  });
  afterAll(async () => {
    await log.close();
  });

  async function stored(ids: readonly string[]): Promise<string[]> {
    const query =
      'SELECT message_id FROM events WHERE account_id = {account_id: UInt64} AND message_id IN {ids: Array(String)} ORDER BY message_id';
    return (await rows<{ message_id: string }>(client, query, { account_id, ids })).map(
      ({ message_id }) => message_id,
    );
  }
  const idsOf = (events: readonly { message_id: string }[]) =>
    events.map(({ message_id }) => message_id).toSorted();
  const untilStored = (events: readonly { message_id: string }[]) =>
    eventually({ ms: TIMEOUT, waitingFor: `${events.length} events to be stored` }, async () => {
      const found = await stored(idsOf(events));
      return found.length >= events.length ? found : undefined;
    });
  const deadLetterAt = (partition: number, offset: number) =>
    eventually({ ms: TIMEOUT, waitingFor: 'the dead letter' }, async () =>
      (await log.deadLetters()).find(
        (deadLetter: DeadLetter) =>
          deadLetter.topic === 'events.raw' &&
          deadLetter.partition === partition &&
          deadLetter.offset === offset,
      ),
    );

  it('sends undecodable records to the dead letters with reason, position and bytes, and continues', async () => {
    const [before, after] = [freshEvents(2), freshEvents(3)];
    const poison = Buffer.from('this is not a raw record');
    const broken = rawRecordCodec.encode(
      sampleRecord(freshEvents(2), { account_id, body: Buffer.from('{"batch":[{]') }),
    );
    await log.accept(1, before, { account_id });
    const [at, brokenAt] = [await log.put(1, poison), await log.put(1, broken)];
    await log.accept(1, after, { account_id });

    expect(await untilStored([...before, ...after])).toEqual(idsOf([...before, ...after]));
    expect(await deadLetterAt(1, at)).toMatchObject({
      stage: 'normalise',
      reason: 'not_single_object',
      account_id: null,
      events: 0,
      value: poison,
    });
    expect(await deadLetterAt(1, brokenAt)).toMatchObject({
      reason: 'body_not_json',
      account_id,
      events: 2,
      index: null,
      value: broken,
    });
  });

  it('stores a message id once, whatever the record, the partition and the number of resends', async () => {
    const events = freshEvents(20);
    for (const partition of [0, 2, 0]) await log.accept(partition, events, { account_id });
    const marker = freshEvents(1);
    await log.accept(0, marker, { account_id });
    await log.accept(2, freshEvents(1), { account_id });
    await untilStored(marker);
    expect(await untilStored(events)).toEqual(idsOf(events));
  });

  it('stores an old event once when it is resent after FLUSHALL', async () => {
    const events = freshEvents(5);
    await log.accept(0, events, { account_id, received_at: Date.now() - 24 * 3_600_000 });
    await untilStored(events);

    const redis = new Redis(ready.redis_url);
    await redis.flushall();
    redis.disconnect();
    const marker = freshEvents(1);
    await log.accept(3, events, { account_id });
    await log.accept(3, marker, { account_id });

    await untilStored(marker);
    expect(await stored(idsOf(events))).toEqual(idsOf(events));
  });

  it('waits while Redis is unavailable, reports it on /readyz, and then stores everything once', async () => {
    const [old, fresh] = [freshEvents(3), freshEvents(4)];
    await log.accept(2, old, { account_id });
    await untilStored(old);

    await ravand('stop', 'redis');
    try {
      await log.accept(2, [...old, ...fresh], { account_id });
      const { admin_url, pid } = await serviceStatus('normaliser');
      const reason = await eventually(
        { ms: TIMEOUT, waitingFor: 'the normaliser to say that it is not ready' },
        async () => {
          const response = await fetch(`${admin_url ?? ''}/readyz`);
          return response.status === 503 ? await response.text() : undefined;
        },
      );
      expect(reason).toContain('Redis');
      expect(await stored(idsOf(fresh))).toEqual([]);
      expect((await serviceStatus('normaliser')).pid).toBe(pid);
    } finally {
      await ravand('start', 'redis');
    }
    expect(await untilStored(fresh)).toEqual(idsOf(fresh));
    expect(await stored(idsOf(old))).toEqual(idsOf(old));
  });
});
