import { beforeEach, describe, expect, it } from 'vitest';
import type { ClaimId } from '../events/claims/claim-id.ts';
import type { ClaimVerdict } from '../events/claims/verdict.ts';
import { ingestOutcomeCodec, rawRecordCodec } from '../schemas/codec.ts';
import type { AccountFacts } from '../ingest-gateway/auth/accounts.ts';
import type { LogRecord } from '../ingest-gateway/spool/spooled-record.ts';
import { IngestService } from './accept.ts';
import type { Submission } from './submission.ts';

interface Claimed {
  ids: readonly ClaimId[];
  verdicts: readonly ClaimVerdict[];
}

let verdicts: ClaimVerdict[];
let account: AccountFacts;
let published: LogRecord[];
/** Says which records neither the log nor the spool takes. */
let isRefused: (record: LogRecord) => boolean;
let settled: { what: 'raised' | 'released'; positions: readonly number[] | undefined }[];
let acceptor: IngestService<Claimed>;

beforeEach(() => {
  verdicts = [];
  account = { retentionDays: 365, quota: 'open' };
  published = [];
  isRefused = () => false;
  settled = [];
  let made = 0;
  acceptor = new IngestService<Claimed>({
    claims: {
      claim: (ids) =>
        Promise.resolve({ ids, verdicts: ids.map((_, at) => verdicts[at] ?? 'claimed') }),
      confirm: (_, positions) => void settled.push({ what: 'raised', positions }),
      release: (_, positions) => {
        settled.push({ what: 'released', positions });
        return Promise.resolve();
      },
    },
    publish: (records) => {
      published.push(...records);
      return Promise.resolve(records.filter(isRefused));
    },
    partitionsOf: () => 4,
    account: () => account,
    newMessageId: () => `made-${made++}`,
    gateway: 'g',
  });
});

function submission(shape: Submission['shape'], body: unknown): Submission {
  return {
    principal: { accountId: 7, appId: 2, writeKeyId: 3 },
    ...{
      path: `/v1/${shape === 'single' ? 'track' : 'batch'}`,
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

describe('acceptance', () => {
  it('publishes nothing beside the event when there is nothing to tell, and raises its claim once it is durable', async () => {
    const result = await acceptor.accept(
      submission('single', { event: 'x', user_id: 'u', message_id: 'm' }),
    );
    expect(result).toEqual({
      outcome: 'taken',
      acceptance: { accepted: 1, duplicates: 0, rejected: 0, warnings: [], errors: [] },
    });
    expect(topics()).toEqual(['events.raw']);
    expect(settled).toEqual([{ what: 'raised', positions: undefined }]);
  });

  it('of a duplicate publishes the outcome only', async () => {
    verdicts = ['durable'];
    const result = await acceptor.accept(
      submission('single', { event: 'x', user_id: 'u', message_id: 'm' }),
    );
    expect(result).toMatchObject({ outcome: 'taken', acceptance: { accepted: 1, duplicates: 1 } });
    expect(topics()).toEqual(['ingest.outcomes']);
    expect(settled).toEqual([]);
  });

  it('publishes events before the outcome, and numbers acceptances without a gap', async () => {
    await acceptor.accept(submission('batch', { batch: [...items(3), { type: 'x' }] }));
    expect(topics().indexOf('ingest.outcomes')).toBe(topics().length - 1);
    await acceptor.accept(submission('batch', { batch: items(2, { user_id: 'one' }) }));
    const raw = published
      .filter(({ topic }) => topic === 'events.raw')
      .map(({ value }) => rawRecordCodec.decode(value));
    const numbers = raw
      .flatMap(({ sequence, items: own }) => own.map((_, at) => sequence + at))
      .sort((a, b) => a - b);
    expect(numbers).toEqual([0, 1, 2, 3, 4]);
  });

  it('gives events without an id one, and claims only the others', async () => {
    verdicts = ['durable'];
    const result = await acceptor.accept(
      submission('batch', {
        batch: [{ type: 'page', user_id: 'u' }, ...items(1), { type: 'page', user_id: 'u' }],
      }),
    );
    expect(result).toMatchObject({ outcome: 'taken', acceptance: { accepted: 3, duplicates: 1 } });
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
    expect(settled).toEqual([{ what: 'raised', positions: [] }]);
  });

  it('answers unavailable when any of its records is not durable: claims of those are released, of the others raised', async () => {
    isRefused = ({ partition, topic }) =>
      topic === 'events.raw' && partition !== published[0]?.partition;
    const result = await acceptor.accept(submission('batch', { batch: items(20) }));
    expect(result).toEqual({ outcome: 'failed', failure: { code: 'unavailable' } });
    expect(settled[0]?.what).toBe('raised');
    expect(settled.slice(1).every(({ what }) => what === 'released')).toBe(true);
    const positions = settled.flatMap((one) => one.positions ?? []);
    expect(positions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at));
    expect(topics()).not.toContain('ingest.outcomes');
  });

  it('answers unavailable, and no 400, when the reject cannot be recorded', async () => {
    isRefused = () => true;
    expect(await acceptor.accept(submission('single', { event: 'x' }))).toEqual({
      outcome: 'failed',
      failure: { code: 'unavailable' },
    });
  });

  it.each(['quota_cancelled', 'quota_trial_over', 'quota_event_cap'] as const)(
    'refuses the whole request over %s, and counts its events',
    async (quota) => {
      account = { ...account, quota };
      expect(await acceptor.accept(submission('batch', { batch: items(5) }))).toEqual({
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

  it('keeps no outcome of what is no JSON', async () => {
    account = { ...account, quota: 'quota_cancelled' };
    expect(await acceptor.accept(submission('single', '{'))).toEqual({
      outcome: 'failed',
      failure: { code: 'malformed_json' },
    });
    expect(published).toEqual([]);
  });

  it('takes the shortest window when the retention cannot be read', async () => {
    const old = {
      event: 'x',
      user_id: 'u',
      message_id: 'm',
      timestamp: new Date(1_790_000_000_000 - 40 * 86_400_000).toISOString(),
    };
    expect(await acceptor.accept(submission('single', old))).toMatchObject({
      acceptance: { warnings: [] },
    });
    account = { retentionDays: undefined, quota: 'open' };
    expect(await acceptor.accept(submission('single', old))).toMatchObject({
      acceptance: { warnings: [{ code: 'timestamp_too_old' }] },
    });
  });
});
