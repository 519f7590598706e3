import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimId, claimScope } from '../../../events/claims/claim-id.ts';
import { sampleRecord, type SampleEvent } from '../../../events/testing/raw-records.ts';
import { NAMES } from '../../../pipeline/normalise/config.ts';
import { logEnds } from '../../../pipeline/normalise/log-ends.ts';
import {
  StoredRowsUnavailable,
  type PackedClaim,
} from '../../../pipeline/normalise/resolve-from.ts';
import { StoredOffsets } from '../../../pipeline/normalise/stored-offsets.ts';
import { readStoredRows } from '../../../pipeline/normalise/stored-rows.ts';
import { connectClickhouse } from '../../../platform/clickhouse/client.ts';
import { ClaimStore } from '../../../platform/claims/claim-store.ts';
import { clickhouseSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { rawRecordCodec } from '../../../schemas/codec.ts';
import { openClickhouse } from '../../support/stack-clients.ts';
import { readWholeTopic, stackKafka } from '../../support/read-topic.ts';
import {
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  rows,
  serviceStatus,
} from '../../support/stack.ts';
import { verdictRecordCodec } from '../../../schemas/codec.ts';
import { freshEvents, RawLog } from './raw-log.ts';

const TTL = 48 * 3_600_000;
const HOUR = 3_600_000;
const TIMEOUT = 60_000;
const never = new AbortController().signal;

describe('packed claims on the real stack', () => {
  const client = openClickhouse();
  let redis: Redis;
  let log: RawLog;
  let account_id: number;
  let store: ClaimStore;
  beforeAll(async () => {
    redis = new Redis(readyStack().redis_url);
    store = new ClaimStore({ redis, dedupeTtl: TTL, packAfter: () => 0 });
    log = await RawLog.open();
    account_id = (await createAccount('packed claims')).accountId;
  });
  afterAll(async () => {
    redis.disconnect();
    await log.close();
  });

  const idOf = ({ message_id }: SampleEvent) =>
    claimId(claimScope(account_id, 'message'), message_id);
  const stored = async (events: readonly SampleEvent[]) => {
    const ids = events.map(({ message_id }) => message_id);
    const query = `SELECT message_id FROM events WHERE account_id = {account_id: UInt64} AND message_id IN {ids: Array(String)}`;
    const found = await rows<{ message_id: string }>(client, query, { account_id, ids });
    return found.length;
  };
  const untilStored = (events: readonly SampleEvent[]) =>
    eventually({ ms: TIMEOUT, waitingFor: `${events.length} events to be stored` }, async () =>
      (await stored(events)) >= events.length ? true : undefined,
    );
  const record = (events: readonly SampleEvent[], received_at: number) =>
    rawRecordCodec.encode(
      sampleRecord(events, {
        ...{ account_id, received_at, gateway: 'packed', sequence: received_at },
      }),
    );
  const verdictsAt = (partition: number, offset: number) =>
    eventually({ ms: TIMEOUT, waitingFor: `verdicts of ${partition}/${offset}` }, async () => {
      const found = (await readWholeTopic('events.verdicts'))
        .flatMap(({ value }) => {
          const { partition: of, verdicts } = verdictRecordCodec.decode(value);
          return of === partition ? verdicts : [];
        })
        .filter((verdict) => verdict.offset === offset);
      return found.length > 0 ? found.map(({ verdict }) => verdict) : undefined;
    });

  /** As the sweep of the normaliser does, but over all buckets at once. */
  async function pack(events: readonly SampleEvent[]): Promise<void> {
    await store.ensureLoaded({
      partitions: () => ({ epoch: 0, owned: [] }),
      backfill: () => Promise.reject(new Error('the normaliser has loaded the claims')),
      signal: never,
    });
    const offsets = new StoredOffsets(logEnds(stackKafka(), NAMES));
    await eventually({ ms: TIMEOUT, waitingFor: 'the claims to be packed' }, async () => {
      await offsets.look();
      const progress = { epoch: 0, processed: [], stored: offsets.stored };
      const sweep = (visits: number) =>
        store.sweep({ ...{ shard: 0, now: Date.now(), visits, partitions: 4, progress } });
      const { buckets } = await sweep(1);
      if (offsets.stored.size === 0) return undefined;
      for (let visited = 0; visited < buckets; visited += 4096) await sweep(4096);
      const entries = await store.peek(events.map(idOf));
      return entries.every((entry) => entry?.state === 'packed') ? true : undefined;
    });
  }

  it('an event is stored once: sent again, published twice, or read again from another position', async () => {
    const [events, sentAgain] = [freshEvents(5), freshEvents(5)];
    const received = Date.now() - 24 * HOUR;
    await log.put(1, record(events, received));
    await log.put(1, record(sentAgain, received + 1));
    await untilStored([...events, ...sentAgain]);
    await pack([...events, ...sentAgain]);

    const duplicate = await log.accept(2, sentAgain, { account_id });
    expect(await verdictsAt(2, duplicate)).toEqual(sentAgain.map(() => 'duplicate'));
    const repeat = await log.put(3, record(events, received));
    expect(await verdictsAt(3, repeat)).toEqual(events.map(() => 'repeat'));
    expect(await stored([...events, ...sentAgain])).toBe(10);
  });

  it('an event of a packed claim is found by its key, in its account, at the times of its part', async () => {
    const [event, other] = freshEvents(2) as [SampleEvent, SampleEvent];
    const received = Date.now() - 20 * HOUR;
    const offset = await log.put(0, record([event], received));
    await untilStored([event]);
    const of = (changes: Partial<PackedClaim['claim']> = {}, until = received): PackedClaim => ({
      claim: {
        ...{ id: idOf(event), account: account_id, kind: 'message', key: event.message_id },
        position: { epoch: 0, partition: 3, offset: 1, index: 0 },
        ...{ acceptance: 1, receivedAt: received, ...changes },
      },
      since: until - HOUR + TTL,
      until: until + TTL,
    });
    const options = { clickhouse: client, dedupeTtl: TTL, signal: never };
    const answers = await readStoredRows(
      [
        of(),
        of({ key: other.message_id }),
        of({ account: account_id + 1 }),
        of({ kind: 'acceptance' }),
        of({}, received - 1),
        of(),
      ],
      options,
    );
    const row = { position: { epoch: 0, partition: 0, offset, index: 0 }, receivedAt: received };
    expect(answers[0]).toMatchObject(row);
    expect(answers.slice(1)).toEqual(['none', 'none', 'none', 'none', answers[0]]);

    const nowhere = connectClickhouse({
      settings: parseSettings(clickhouseSettings, { CLICKHOUSE_URL: 'http://127.0.0.1:1' }),
      name: 'test',
    });
    await expect(
      readStoredRows([of()], { ...options, clickhouse: nowhere }),
    ).rejects.toBeInstanceOf(StoredRowsUnavailable);
    await nowhere.close();
  });

  it.runIf(FULL)(
    'a partition waits while ClickHouse cannot say what a packed claim is; duplicates need no answer',
    async () => {
      const events = freshEvents(3);
      const received = Date.now() - 10 * HOUR;
      await log.put(1, record(events, received));
      await untilStored(events);
      await pack(events);
      await ravand('stop', 'clickhouse');
      let repeat: number;
      try {
        const duplicate = await log.accept(2, events, { account_id });
        expect(await verdictsAt(2, duplicate)).toEqual(events.map(() => 'duplicate'));
        repeat = await log.put(3, record(events, received));
        const { admin_url } = await serviceStatus('normaliser');
        await eventually({ ms: TIMEOUT, waitingFor: 'the normaliser to wait' }, async () => {
          const response = await fetch(`${admin_url ?? ''}/readyz`);
          const text = await response.text();
          return text.includes('partition 3 waits for ClickHouse') ? true : undefined;
        });
      } finally {
        await ravand('start', 'clickhouse');
      }
      expect(await verdictsAt(3, repeat)).toEqual(events.map(() => 'repeat'));
      expect(await stored(events)).toBe(3);
    },
  );
});
