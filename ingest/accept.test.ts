import { beforeEach, describe, expect, it } from 'vitest';
import { claimIdsOf, type ClaimWords } from '../events/claims/claim-words.ts';
import type { ClaimVerdict } from '../events/claims/verdict.ts';
import { ingestOutcomeCodec, rawRecordCodec } from '../schemas/codec.ts';
import type { AccountFacts } from './account.ts';
import type { LogRecord } from './log-record.ts';
import { IngestService } from './accept.ts';
import { BodyDecider } from './body-decider.ts';
import { EventWriter } from './event-writer.ts';
import type { SdkRequest } from './request.ts';

interface Claimed {
  ids: ClaimWords;
  verdicts: readonly ClaimVerdict[];
}

let verdicts: ClaimVerdict[];
let account: AccountFacts;
let published: LogRecord[];
/** True for a record that neither Kafka nor the spool accepts. */
let isRefused: (record: LogRecord) => boolean;
let resolved: { what: 'confirmed' | 'released'; positions: readonly number[] | undefined }[];
let service: IngestService;

beforeEach(() => {
  verdicts = [];
  account = { retentionDays: 365, quota: 'open' };
  published = [];
  isRefused = () => false;
  resolved = [];
  let made = 0;
  const writer = new EventWriter<Claimed>({
    claims: {
      claim: (ids) =>
        Promise.resolve({
          ids,
          verdicts: claimIdsOf(ids).map((_, at) => verdicts[at] ?? 'claimed'),
        }),
      confirm: (_, positions) => void resolved.push({ what: 'confirmed', positions }),
      release: (_, positions) => {
        resolved.push({ what: 'released', positions });
        return Promise.resolve();
      },
    },
    publish: (records) => {
      published.push(...records);
      return Promise.resolve(records.filter(isRefused));
    },
    partitionsOf: () => 4,
    gateway: 'g',
  });
  service = new IngestService({
    writer,
    decider: new BodyDecider({ maxBodyBytes: 1024 * 1024, random: Math.random }),
    account: () => account,
    newMessageId: () => `made-${made++}`,
  });
});

function request(shape: SdkRequest['shape'], body: unknown): SdkRequest {
  return {
    principal: { accountId: 7, appId: 2, writeKeyId: 3 },
    ...{
      path: `/v1/${shape === 'single' ? 'track' : 'batch'}`,
      source: 'sdk',
      shape,
      type: 'track',
      receivedAt: 1_790_000_000_000,
    },
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    ...{ ip: '203.0.113.9', userAgent: 'ua', origin: '', trace: 'feedbeef' },
  };
}

function items(count: number, more: object = {}): object[] {
  return Array.from({ length: count }, (_, at) => ({
    type: 'track',
    event: 'x',
    user_id: `u${at}`,
    message_id: `m${at}`,
    ...more,
  }));
}

const topics = () => published.map(({ topic }) => topic);

describe('the acceptance of an SDK request', () => {
  it('publishes a clean event without an outcome record, and confirms its claim once it is durable', async () => {
    const result = await service.accept(
      request('single', { event: 'x', user_id: 'u', message_id: 'm' }),
    );
    expect(result).toEqual({
      outcome: 'accepted',
      summary: { accepted: 1, duplicates: 0, rejected: 0, warnings: [], errors: [] },
    });
    expect(topics()).toEqual(['events.raw']);
    expect(resolved).toEqual([{ what: 'confirmed', positions: undefined }]);
  });

  it('publishes only the outcome record of a duplicate', async () => {
    verdicts = ['durable'];
    const result = await service.accept(
      request('single', { event: 'x', user_id: 'u', message_id: 'm' }),
    );
    expect(result).toMatchObject({ outcome: 'accepted', summary: { accepted: 1, duplicates: 1 } });
    expect(topics()).toEqual(['ingest.outcomes']);
    expect(resolved).toEqual([]);
  });

  it('publishes events before their outcome, and numbers events without a gap', async () => {
    await service.accept(request('batch', { batch: [...items(3), { type: 'x' }] }));
    expect(topics().indexOf('ingest.outcomes')).toBe(topics().length - 1);
    await service.accept(request('batch', { batch: items(2, { user_id: 'one' }) }));
    const raw = published
      .filter(({ topic }) => topic === 'events.raw')
      .map(({ value }) => rawRecordCodec.decode(value));
    const numbers = raw
      .flatMap(({ sequence, items: own }) => own.map((_, at) => sequence + at))
      .sort((a, b) => a - b);
    expect(numbers).toEqual([0, 1, 2, 3, 4]);
  });

  it('generates a message id for an event without one, and claims only the other events', async () => {
    verdicts = ['durable'];
    const result = await service.accept(
      request('batch', {
        batch: [{ type: 'page', user_id: 'u' }, ...items(1), { type: 'page', user_id: 'u' }],
      }),
    );
    expect(result).toMatchObject({ outcome: 'accepted', summary: { accepted: 3, duplicates: 1 } });
    const raw = published
      .filter(({ topic }) => topic === 'events.raw')
      .map(({ value }) => rawRecordCodec.decode(value));
    expect(
      raw.flatMap((record) =>
        record.items.map(({ message_id, generated }) => [message_id, generated]),
      ),
    ).toEqual([
      ['made-0', true],
      ['made-1', true],
    ]);
    expect(resolved).toEqual([{ what: 'confirmed', positions: [] }]);
  });

  it('answers unavailable when a record is not durable: its claims are released, those of the others confirmed', async () => {
    isRefused = ({ partition, topic }) =>
      topic === 'events.raw' && partition !== published[0]?.partition;
    const result = await service.accept(request('batch', { batch: items(20) }));
    expect(result).toEqual({ outcome: 'failed', failure: { code: 'unavailable' } });
    expect(resolved[0]?.what).toBe('confirmed');
    expect(resolved.slice(1).every(({ what }) => what === 'released')).toBe(true);
    const positions = resolved.flatMap((one) => one.positions ?? []);
    expect(positions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at));
  });

  it('answers unavailable, and not 400, when the reject cannot be recorded', async () => {
    isRefused = () => true;
    expect(await service.accept(request('single', { event: 'x' }))).toEqual({
      outcome: 'failed',
      failure: { code: 'unavailable' },
    });
  });

  it.each(['quota_cancelled', 'quota_trial_over', 'quota_event_cap'] as const)(
    'refuses the whole request with %s, and counts its events',
    async (quota) => {
      account = { ...account, quota };
      expect(await service.accept(request('batch', { batch: items(5) }))).toEqual({
        outcome: 'failed',
        failure: { code: quota },
      });
      const [record] = published;
      expect(published.length).toBe(1);
      expect(ingestOutcomeCodec.decode(record?.value ?? Buffer.alloc(0))).toMatchObject({
        received: 5,
        accepted: 0,
        rejected: 5,
        counts: [{ kind: 'reject', code: quota, count: 5 }],
      });
    },
  );

  it('records no outcome of a body that is not JSON', async () => {
    account = { ...account, quota: 'quota_cancelled' };
    expect(await service.accept(request('single', '{'))).toEqual({
      outcome: 'failed',
      failure: { code: 'malformed_json' },
    });
    expect(published).toEqual([]);
  });

  it('applies the shortest window when the retention cannot be read', async () => {
    const old = {
      event: 'x',
      user_id: 'u',
      message_id: 'm',
      timestamp: new Date(1_790_000_000_000 - 40 * 86_400_000).toISOString(),
    };
    expect(await service.accept(request('single', old))).toMatchObject({
      summary: { warnings: [] },
    });
    account = { retentionDays: undefined, quota: 'open' };
    expect(await service.accept(request('single', old))).toMatchObject({
      summary: { warnings: [{ code: 'timestamp_too_old' }] },
    });
  });
});
