import { describe, expect, it } from 'vitest';
import { claimIdsOf, type ClaimWords } from '../events/claims/claim-words.ts';
import type { ClaimVerdict } from '../events/claims/verdict.ts';
import { ingestOutcomeCodec, rawRecordCodec } from '../schemas/codec.ts';
import { ClientBody } from './client-body.ts';
import { EventWriter, type EventsToWrite } from './event-writer.ts';
import type { LogRecord } from './log-record.ts';

const REQUEST: EventsToWrite['request'] = {
  principal: { accountId: 7, appId: 0, writeKeyId: 0 },
  ...{ source: 'import', path: '/v1/events', shape: 'batch', receivedAt: 5, trace: 't' },
  ...{ ip: '', userAgent: '', origin: '' },
};
const allClaimed = (ids: ClaimWords): ClaimVerdict[] => claimIdsOf(ids).map(() => 'claimed');

type Claim = NonNullable<ConstructorParameters<typeof EventWriter>[0]['claims']>['claim'];

const CLEAN: EventsToWrite['decided'] = { received: 2, rejected: [], counts: [] };

function written(): { writer: EventWriter; published: LogRecord[] } {
  const published: LogRecord[] = [];
  const writer = new EventWriter({
    publish: (records) => {
      published.push(...records);
      return Promise.resolve([]);
    },
    partitionsOf: () => Promise.resolve(4),
    gateway: 'g',
  });
  return { writer, published };
}

function events(decided: EventsToWrite['decided'] = CLEAN): EventsToWrite {
  const event = { type: 'track', generated: false, timestamp: 1, distinctId: 'a' } as const;
  return {
    request: REQUEST,
    decided,
    events: [
      { ...event, index: 0, message_id: 'm', dedupe_id: 'd0' },
      { ...event, index: 1, message_id: 'm', dedupe_id: 'd1' },
    ],
    bytes: new ClientBody(Buffer.from('{"events":[{"a":1},{"a":2}]}'), 'events'),
  };
}

describe('a writer', () => {
  const warned: EventsToWrite['decided'] = {
    ...CLEAN,
    counts: [
      { kind: 'warn', code: 'generated_message_id', field: 'message_id', sdk: '', count: 2 },
    ],
  };

  it('publishes events and their outcome at once: a request waits for one round trip', async () => {
    const publishes: string[][] = [];
    const writer = new EventWriter({
      publish: (records) => {
        publishes.push(records.map(({ topic }) => topic));
        return Promise.resolve([]);
      },
      partitionsOf: () => 1,
      gateway: 'g',
    });
    await writer.write(events(warned));
    expect(publishes).toEqual([['events.raw', 'ingest.outcomes']]);
  });

  it.each(['events.raw', 'ingest.outcomes'])(
    'answers that a request is not durable when only its record of %s is not, and keeps the claims of durable events',
    async (topic) => {
      const resolved: string[] = [];
      const writer = new EventWriter({
        claims: {
          claim: (ids) => Promise.resolve({ verdicts: allClaimed(ids) }),
          confirm: () => void resolved.push('confirmed'),
          release: () => Promise.resolve(void resolved.push('released')),
        },
        publish: (records) => Promise.resolve(records.filter((record) => record.topic === topic)),
        partitionsOf: () => 1,
        gateway: 'g',
      });
      expect(await writer.write(events(warned))).toBe(undefined);
      expect(resolved).toEqual([topic === 'events.raw' ? 'released' : 'confirmed']);
    },
  );

  it('numbers outcome records in the order of the log, also when requests overlap', async () => {
    const sequences: number[] = [];
    const writer = new EventWriter({
      claims: {
        claim: (ids) =>
          new Promise<Awaited<ReturnType<Claim>>>((resolve) =>
            setTimeout(() => resolve({ verdicts: allClaimed(ids) }), Math.random() * 5),
          ),
        confirm: () => undefined,
        release: () => Promise.resolve(),
      },
      publish: (records) => {
        for (const { topic, value } of records)
          if (topic === 'ingest.outcomes')
            sequences.push(ingestOutcomeCodec.decode(value).sequence);
        return Promise.resolve([]);
      },
      partitionsOf: () => (Math.random() < 0.5 ? 1 : Promise.resolve(1)),
      gateway: 'g',
    });
    await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        if (at % 3 === 0)
          await writer.writeRefusal(REQUEST, {
            events: 1,
            count: { code: 'c', field: '', sdk: '' },
          });
        else await writer.write(events(warned));
      }),
    );
    expect(sequences).toEqual(Array.from({ length: 50 }, (_, at) => at));
  });
});

describe('a writer without claims', () => {
  it('publishes events of one message id as often as they come', async () => {
    const { writer, published } = written();
    expect(await writer.write(events())).toBe(0);
    expect(await writer.write(events())).toBe(0);
    const raw = published.map(({ value }) => rawRecordCodec.decode(value));
    expect(raw.map(({ sequence, items }) => [sequence, items.length])).toEqual([
      [0, 2],
      [2, 2],
    ]);
  });

  it('numbers its outcome records and writes one only when there is something to record', async () => {
    const { writer, published } = written();
    const count = { kind: 'warn', code: 'c', field: '', sdk: '', count: 1 } as const;
    await writer.write(events());
    await writer.write(events({ ...CLEAN, counts: [count] }));
    await writer.writeRefusal(REQUEST, { events: 0, count: { code: 'c', field: '', sdk: '' } });
    const outcomes = published
      .filter(({ topic }) => topic === 'ingest.outcomes')
      .map(({ value }) => ingestOutcomeCodec.decode(value));
    expect(outcomes).toMatchObject([
      { sequence: 0, source: 'import', received: 2, accepted: 2, counts: [count] },
      { sequence: 1, received: 0, rejected: 0, counts: [{ kind: 'reject', count: 1 }] },
    ]);
  });
});
