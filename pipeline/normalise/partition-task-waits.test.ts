import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { delay } from '../../platform/backoff.ts';
import type { ResolvedClaims } from '../../platform/claims/claim-store.ts';
import { PublishFailed, type OutgoingRecord } from '../../platform/kafka/producer.ts';
import { verdictRecordCodec } from '../../schemas/codec.ts';
import { BEFORE_FIRST } from '../../schemas/log-position.ts';
import { judge, EMPTY_WINDOW } from '../../platform/dead-letter-breaker.ts';
import { NAMES } from './config.ts';
import { ClaimsGate } from './claims-gate.ts';
import { Publisher } from './publisher.ts';
import { NormaliserTask, type NormaliserDeps } from './partition-task.ts';
import { StoredRowsUnavailable } from './resolve-from.ts';
import { rowTools } from './row-tools.ts';
import { sampleEvent, sampleMessage, sampleRecord } from '../../events/testing/raw-records.ts';
import { Semaphore } from './semaphore.ts';

function setUp(
  changes: Partial<NormaliserDeps> & {
    publish?: (record: OutgoingRecord) => PublishFailed | undefined;
  } = {},
) {
  const sent: OutgoingRecord[] = [];
  const stops: (number | undefined)[] = [];
  const waits: (string | undefined)[] = [];
  const gate = new ClaimsGate({ load: () => Promise.resolve(), failed: () => undefined });
  gate.start();
  let inside = 0;
  const [enter, leave] = [gate.enter.bind(gate), gate.leave.bind(gate)];
  gate.enter = async (signal) => {
    const round = await enter(signal);
    inside++;
    return round;
  };
  gate.leave = () => {
    inside--;
    leave();
  };
  const fenced = new AbortController();
  const stopping = new AbortController();
  const deps: NormaliserDeps = {
    gate,
    claims: {
      resolve: (claims) =>
        Promise.resolve<ResolvedClaims>({
          status: 'resolved',
          resolutions: claims.map(() => ({ verdict: 'first' })),
        }),
      held,
      stored,
    },
    lastPublished: () => Promise.resolve(BEFORE_FIRST),
    semaphore: new Semaphore(1),
    publisher: new Publisher(
      {
        send: (record, done) => {
          sent.push(record);
          const failure = changes.publish?.(record);
          setImmediate(() => done(failure, 0));
        },
      },
      1_000_000,
    ),
    ...rowTools({ limits: { rows: 1000, bytes: 100_000, rowBytes: 100_000 }, userAgents: 10 }),
    names: NAMES,
    deadLetterPartitions: 1,
    judgeChunk: (chunk) =>
      judge(EMPTY_WINDOW, chunk, { minDead: 3, maxDeadShare: 0.5, windowEvents: 1000 }),
    retryAfter: 30,
    now: () => 0,
    published: () => undefined,
    retryUnconfirmed: 1,
    unconfirmed: (_, error) => void waits.push(error?.message),
    heldBack: (_partition, share) => stops.push(share),
    ...changes,
  };
  const task = new NormaliserTask({
    partition: 0,
    committed: 5,
    deps,
    fenced: fenced.signal,
    stopping: stopping.signal,
    released: () => undefined,
  });
  return { task, deps, inside: () => inside, sent, stops, waits, fenced, stopping };
}

const good = (offset: number) =>
  sampleMessage(sampleRecord([sampleEvent(`m${offset}`)]), { offset });
const poison = (offset: number) => sampleMessage(Buffer.from('poison'), { offset });
const held: NormaliserDeps['claims']['held'] = (ids) => Promise.resolve(ids.map(() => true));
const stored: NormaliserDeps['claims']['stored'] = (claims) =>
  Promise.resolve(claims.map(() => 'none'));
const duplicate: NormaliserDeps['claims'] = {
  held,
  stored,
  resolve: (claims) =>
    Promise.resolve({
      status: 'resolved',
      resolutions: claims.map(() => ({
        verdict: 'duplicate',
        position: { epoch: 0, partition: 1, offset: 1, index: 0 },
      })),
    }),
};

describe('processing a batch', () => {
  it('publishes row batches, dead letters and verdicts to the same partition, and returns the next offset', async () => {
    const { task, sent } = setUp();
    expect(await task.process([good(5), poison(6), good(7)])).toBe(8);
    expect(sent.map(({ topic, partition }) => [topic, partition])).toEqual([
      ['events.normalised', 0],
      ['events.dead', 0],
    ]);
    expect(task.position).toEqual({ next: 8, processedUntil: 1_790_000_000_000 });
  });

  it('publishes a verdict for an event that does not become a row', async () => {
    const { task, sent } = setUp({ claims: duplicate });
    expect(await task.process([good(5)])).toBe(6);
    expect(sent.map(({ topic }) => topic)).toEqual(['events.verdicts']);
    expect(sent[0] && verdictRecordCodec.decode(sent[0].value)).toMatchObject({
      partition: 0,
      verdicts: [{ offset: 5, index: 0, verdict: 'duplicate' }],
    });
  });

  it('rejects when a publish fails, so that the offset does not advance', async () => {
    const { task } = setUp({ publish: () => new PublishFailed('timed out', -192) });
    await expect(task.process([good(5)])).rejects.toThrow('timed out');
  });

  it('publishes nothing of a chunk that the breaker holds back, and continues when the breaker closes', async () => {
    let isHealthy = false;
    const { task, sent, stops } = setUp({
      judgeChunk: (chunk) =>
        isHealthy
          ? { verdict: 'pass', state: EMPTY_WINDOW }
          : judge(EMPTY_WINDOW, chunk, { minDead: 3, maxDeadShare: 0.5, windowEvents: 1000 }),
    });
    const processed = task.process([good(5), poison(6), poison(7), poison(8)]);
    await expect.poll(() => stops.length).toBeGreaterThanOrEqual(3);
    expect(sent).toEqual([]);
    expect(stops.slice(0, 3)).toEqual([0.75, undefined, 0.75]);
    isHealthy = true;
    expect(await processed).toBe(9);
    expect(sent.map(({ topic }) => topic)).toEqual([
      'events.normalised',
      'events.dead',
      'events.dead',
      'events.dead',
    ]);
    expect(stops.at(-1)).toBeUndefined();
  });

  it.each(['fenced', 'stopping'] as const)(
    'returns no offset when it is %s while Redis is unavailable',
    async (why) => {
      const setup = setUp({
        claims: {
          held,
          stored,
          resolve: (_claims, signal) =>
            new Promise((_, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason as Error)),
            ),
        },
      });
      const processed = setup.task.process([good(5)]);
      await nextTurn();
      setup[why].abort(new Error(why));
      expect(await processed).toBeUndefined();
      expect(await setup.task.process([good(6)])).toBeUndefined();
      expect(setup.sent).toEqual([]);
    },
  );

  it('returns no offset when it is fenced while the breaker holds it back', async () => {
    const { task, fenced } = setUp({ retryAfter: 60_000 });
    const processed = task.process([poison(5), poison(6), poison(7)]);
    await delay(20);
    fenced.abort(new Error('fenced'));
    expect(await processed).toBeUndefined();
  });

  it('resolves the same claims again after they were lost', async () => {
    let calls = 0;
    const { task, sent } = setUp({
      claims: {
        held,
        stored,
        resolve: (claims) =>
          Promise.resolve(
            calls++ === 0
              ? { status: 'lost' }
              : { status: 'resolved', resolutions: claims.map(() => ({ verdict: 'first' })) },
          ),
      },
    });
    expect(await task.process([good(5)])).toBe(6);
    expect(calls).toBe(2);
    expect(sent).toHaveLength(1);
  });

  it('resolves a batch again, outside of the gate, until ClickHouse says what a packed claim is', async () => {
    const asked: string[][] = [];
    const setup = setUp({
      claims: {
        held,
        resolve: (claims) => {
          const isKnown = claims.every((claim) => claim.stored !== undefined);
          return Promise.resolve({
            status: 'resolved',
            resolutions: claims.map(() =>
              isKnown
                ? { verdict: 'duplicate' }
                : { verdict: 'ask', since: 1_790_000_000_000, until: 1_790_000_000_001 },
            ),
          });
        },
        stored: async (packed) => {
          asked.push(packed.map(({ claim }) => `${claim.account} ${claim.kind} ${claim.key}`));
          if (asked.length < 3) throw new StoredRowsUnavailable('connection refused');
          await Promise.resolve();
          return packed.map(() => 'none');
        },
      },
    });
    const gates: number[] = [];
    setup.deps.unconfirmed = (_, error) => {
      setup.waits.push(error?.message);
      gates.push(setup.inside());
    };
    expect(await setup.task.process([good(5)])).toBe(6);
    expect(asked).toEqual(Array.from({ length: 3 }, () => ['1 message m5']));
    const wait = ['connection refused', undefined];
    expect(setup.waits).toEqual([...wait, ...wait]);
    expect(gates).toEqual([0, 0, 0, 0]);
    expect(setup.sent.map(({ topic }) => topic)).toEqual(['events.verdicts']);
  });
});
