import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { testMessageKey } from '../../events/messages/message-id.ts';
import type { ProviderAnswer, Target } from '../providers/provider.ts';
import { MAX_CONSENT_LAG_MS } from '../recipients/consent-lag.ts';
import type { Resolved } from '../recipients/resolved.ts';
import type { TemplateVersion } from '../templates/template.ts';
import type { TransactionalPorts } from './ports.ts';
import { TransactionalSender } from './transactional-sender.ts';
import { TransactionalStore } from './transactional-store.ts';

let postgres: MigratedDatabase;
beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060']);
}, 30_000);
afterAll(() => postgres.close());

const TEMPLATE: TemplateVersion = {
  ...{ templateId: 5, version: 1, accountId: 1, channel: 'sms', category: 'transactional' },
  content: { text: 'x' },
};
const MARKETING: TemplateVersion = { ...TEMPLATE, category: 'marketing' };
const CONTENT = { subject: '', title: '', text: 'x', html: '', url: '', data: {} };
const NUMBER: Target = { kind: 'phone', number: '+989120000000' };
const RESOLVED: Resolved = {
  ...{ canonical: 'person', identityRevision: 0, names: ['u'], profile: {} },
  ...{ targets: [NUMBER], address: NUMBER.number },
  ...{ suppressed: false, consent: undefined, optedOut: false, optedIn: false },
};

const accepted: ProviderAnswer = { kind: 'accepted', providerMessageId: 'p1' };
const answer = (kind: Exclude<ProviderAnswer['kind'], 'accepted'>, reason = kind as string) => ({
  ...{ kind, reason, detail: 'in detail' },
});

interface Given {
  template?: TemplateVersion | undefined;
  resolved?: Partial<Resolved>;
  /** Of one call after the other; the last one is repeated. */
  answers?: readonly ProviderAnswer[];
  hasSender?: boolean;
  /** A member tries a template of marketing. */
  isTest?: boolean;
  consentLag?: number;
  isIdempotent?: boolean;
  isBroken?: boolean;
  channel?: 'sms' | 'email';
  resolve?: TransactionalPorts['resolve'];
  store?: Partial<TransactionalPorts['store']>;
  prepared?: Awaited<ReturnType<TransactionalPorts['prepare']>>[number];
}

let keys = 0;
let fences = 0;

function newStore(): TransactionalStore {
  return new TransactionalStore(postgres.database, { staleMs: 60_000, retentionMs: 1e9 });
}

function given(of: Given = {}) {
  const { answers = [accepted], isIdempotent = false, hasSender = true } = of;
  const store = newStore();
  const seen = { calls: 0, waits: [] as number[], reports: [] as string[], steps: [] as string[] };
  const { channel = 'sms' } = of;
  let clock = 1000;
  const report =
    (name: string) =>
    (...values: unknown[]) =>
      seen.reports.push(`${name} ${JSON.stringify(values)}`);
  const ports: TransactionalPorts = {
    store: {
      reserve: (key, as) => {
        seen.steps.push(`reserve ${as}`);
        return of.store?.reserve?.(key, as) ?? store.reserve(key, as);
      },
      open: (key, as) => {
        seen.steps.push(`open ${as}`);
        return of.store?.open?.(key, as) ?? store.open(key, as);
      },
      unopen: (key) => store.unopen(key),
      release: (key, handed) => store.release(key, handed),
      complete: (completion) => of.store?.complete?.(completion) ?? store.complete(completion),
    },
    template: () => Promise.resolve('template' in of ? of.template : TEMPLATE),
    resolve: of.resolve ?? (() => Promise.resolve({ ...RESOLVED, ...of.resolved })),
    sender: () =>
      Promise.resolve(
        hasSender
          ? {
              provider: {
                ...{ channel: 'sms', name: 'model', isIdempotent },
                send: () => {
                  seen.steps.push('call');
                  const next = answers[Math.min(seen.calls++, answers.length - 1)];
                  return Promise.resolve(next ?? accepted);
                },
                close: () => Promise.resolve(),
              },
              limits: { perSecond: undefined, concurrency: 1 },
              ...{ revision: 1, broken: of.isBroken ? { reason: 'x', at: 0 } : undefined },
            }
          : undefined,
      ),
    consentLag: () => Promise.resolve(of.consentLag ?? 0),
    prepare: ({ messages }) => {
      seen.steps.push('prepare');
      const prepared = messages.map(
        ({ messageId }) =>
          of.prepared ?? {
            ...{ kind: 'ready' as const, addressHash: 'h', missing: [] },
            messages: [{ messageId, to: NUMBER, content: CONTENT, expiresAt: 0 }],
          },
      );
      return Promise.resolve(prepared);
    },
    reports: {
      ...{ dead: report('dead'), broken: report('broken'), working: report('working') },
      ...{ missing: () => undefined, problem: (error, { code }) => report('problem')(code) },
    },
    now: () => clock,
    random: () => 0.5,
    measured: () => undefined,
    newFence: () => ++fences,
    wait: (ms) => {
      clock += ms;
      seen.waits.push(ms);
      return Promise.resolve();
    },
  };
  const sender = new TransactionalSender(ports);
  const ownKey = `order-${++keys}`;
  const idempotencyKey = of.isTest ? testMessageKey(ownKey) : ownKey;
  const send = () =>
    sender.send({
      ...{ accountId: 1, userId: 'u', templateId: 5, channel, vars: {} },
      category: of.isTest ? ('marketing' as const) : ('transactional' as const),
      ...{ idempotencyKey, receivedAt: 1000 },
    });
  return { send, seen, sender, messageId: `t1.${idempotencyKey}` };
}

describe('a transactional message', () => {
  it('is sent, and its result is replayed', async () => {
    const { send, seen, messageId } = given();
    const result = { message_id: messageId, channel: 'sms', status: 'sent' };
    expect(await send()).toEqual({ kind: 'answered', result, isReplay: false });
    expect(await send()).toEqual({ kind: 'answered', result, isReplay: true });
    expect(seen.calls).toBe(1);
  });

  it.each<[string, Given, object]>([
    [
      'of no template of the account',
      { template: undefined },
      { status: 'skipped', reason: 'unknown_template' },
    ],
    [
      'of a template for another channel',
      { template: { ...TEMPLATE, channel: 'email' } },
      { status: 'skipped', reason: 'unknown_template' },
    ],
    [
      'on a channel without a sender',
      { hasSender: false },
      { status: 'skipped', reason: 'channel_not_configured' },
    ],
    [
      'to nobody who can be reached',
      { resolved: { targets: [] } },
      { status: 'skipped', reason: 'no_address' },
    ],
    [
      'to a suppressed address',
      { resolved: { suppressed: true } },
      { status: 'skipped', reason: 'suppressed' },
    ],
    [
      'that the provider refuses',
      { answers: [answer('rejected')] },
      { status: 'failed', reason: 'rejected_by_provider' },
    ],
    [
      'to a dead address',
      { answers: [answer('dead_address')] },
      { status: 'failed', reason: 'dead_address' },
    ],
    [
      'whose answer is lost for good',
      { answers: [answer('unknown')] },
      { status: 'failed', reason: 'outcome_unknown' },
    ],
    [
      'that cannot be rendered',
      { prepared: { kind: 'finish', status: 'failed', reason: 'render_failed', detail: '' } },
      { status: 'failed', reason: 'render_failed' },
    ],
  ])('%s keeps that result', async (_, of, expected) => {
    const { send, seen } = given(of);
    const first = await send();
    expect(first).toMatchObject({ kind: 'answered', isReplay: false, result: expected });
    const calls = seen.calls;
    expect(await send()).toMatchObject({ isReplay: true, result: expected });
    expect(seen.calls).toBe(calls);
  });

  it('ignores consents, but obeys suppressions', async () => {
    const refused = { consent: 'unsubscribed' as const, optedOut: true };
    const { send } = given({ resolved: refused });
    expect(await send()).toMatchObject({ result: { status: 'sent' } });
    const other = given({ resolved: { ...refused, suppressed: true } });
    expect(await other.send()).toMatchObject({ result: { reason: 'suppressed' } });
  });

  it('of a marketing template is refused, and its key stays free', async () => {
    const { send } = given({ template: { ...TEMPLATE, category: 'marketing' } });
    expect(await send()).toEqual({ kind: 'marketing' });
    const { rows } = await postgres.database.query(
      'SELECT 1 FROM transactional_messages WHERE idempotency_key = $1',
      [`order-${keys}`],
    );
    expect(rows).toEqual([]);
  });

  it('is a test of a marketing template, which is sent once and says so in its id', async () => {
    const { send, seen, messageId } = given({ isTest: true, template: MARKETING });
    expect(messageId).toMatch(/^t1\.test~/);
    const result = { message_id: messageId, channel: 'sms', status: 'sent' };
    expect(await send()).toEqual({ kind: 'answered', result, isReplay: false });
    expect(await send()).toEqual({ kind: 'answered', result, isReplay: true });
    expect(seen.calls).toBe(1);
  });

  it.each<[string, Partial<Resolved>]>([
    ['suppressed', { suppressed: true }],
    ['unsubscribed', { consent: 'unsubscribed' }],
    ['opted_out', { optedOut: true }],
  ])('is no test to a recipient who is %s', async (reason, resolved) => {
    const { send, seen } = given({ isTest: true, template: MARKETING, resolved });
    expect(await send()).toMatchObject({ result: { status: 'skipped', reason } });
    expect(seen.calls).toBe(0);
  });

  it('is no test while it is not known who has unsubscribed, and its key is free', async () => {
    const of: Given = { isTest: true, template: MARKETING, consentLag: MAX_CONSENT_LAG_MS + 1 };
    const { send, seen } = given(of);
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect(seen.calls).toBe(0);
    of.consentLag = MAX_CONSENT_LAG_MS;
    expect(await send()).toMatchObject({ result: { status: 'sent' }, isReplay: false });
  });

  it('is tried again while the provider certainly did not take it', async () => {
    const retry: ProviderAnswer = { ...answer('retry'), kind: 'retry', afterMs: 1500 };
    const { send, seen } = given({ answers: [retry, retry, accepted] });
    expect(await send()).toMatchObject({ result: { status: 'sent' } });
    expect([seen.calls, seen.waits]).toEqual([3, [1500, 1500]]);
  });

  it('is given up after 20 s, and its key is free at once', async () => {
    const { send, seen } = given({ answers: [answer('retry')] });
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect(seen.waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(20_000);
    expect(seen.waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(15_000);
    const { calls } = seen;
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect(seen.calls).toBeGreaterThan(calls);
  });

  it('is given up at once when the provider asks for a longer wait', async () => {
    const later: ProviderAnswer = { ...answer('retry'), kind: 'retry', afterMs: 60_000 };
    const { send, seen } = given({ answers: [later] });
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect([seen.calls, seen.waits]).toEqual([1, []]);
  });

  it('whose template took too much for others is not sent now, and its key is free', async () => {
    const prepared = { kind: 'later', afterMs: 60_000 } as const;
    const { send, seen } = given({ prepared });
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect(seen).toMatchObject({ calls: 0, waits: [], reports: [] });
  });

  it('is given up when the sender is refused, and says so', async () => {
    const { send, seen } = given({ answers: [answer('broken', 'credentials')] });
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect(seen.reports).toEqual([
      'broken [{"accountId":1,"channel":"sms","provider":"model","revision":1},"credentials: in detail"]',
    ]);
    const working = given({ isBroken: true });
    await working.send();
    expect(working.seen.reports).toEqual([
      'working [{"accountId":1,"channel":"sms","provider":"model","revision":1}]',
    ]);
  });

  it('whose answer is lost is repeated only to a provider that takes nothing twice', async () => {
    const answers = [answer('unknown'), accepted];
    const plain = given({ answers });
    expect(await plain.send()).toMatchObject({ result: { reason: 'outcome_unknown' } });
    expect(plain.seen.calls).toBe(1);
    const idempotent = given({ answers, isIdempotent: true });
    expect(await idempotent.send()).toMatchObject({ result: { status: 'sent' } });
    expect(idempotent.seen.calls).toBe(2);
    const lost = given({ answers: [answer('unknown')], isIdempotent: true });
    expect(await lost.send()).toMatchObject({ result: { reason: 'outcome_unknown' } });
  });

  it('that was sent is answered so although its result cannot be stored at once', async () => {
    let failures = 0;
    const complete: TransactionalPorts['store']['complete'] = () =>
      failures++ === 0 ? Promise.reject(new Error('down')) : Promise.resolve(true);
    const { send, sender } = given({ store: { complete } });
    expect(await send()).toMatchObject({ result: { status: 'sent' }, isReplay: false });
    await sender.close(5000);
    expect([failures, sender.unstored]).toEqual([2, 0]);
  });

  it('whose result is not the stored one, because its key was reserved again, is in flight', async () => {
    const { send, seen } = given({ store: { complete: () => Promise.resolve(false) } });
    expect(await send()).toEqual({ kind: 'in_flight' });
    expect(seen.calls).toBe(1);
  });

  it('is not sent when its attempt cannot be recorded, and its key is free', async () => {
    let isUp = false;
    const store = newStore();
    const { send, seen } = given({
      store: {
        // It takes effect, and the answer is lost.
        reserve: async (key, as) => {
          const reserved = await store.reserve(key, as);
          if (!isUp) throw new Error('down');
          return reserved;
        },
      },
    });
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect([seen.calls, seen.reports]).toEqual([0, ['problem ["message_not_sent"]']]);
    isUp = true;
    await vi.waitFor(async () =>
      expect(await send()).toMatchObject({ result: { status: 'sent' } }),
    );
  });

  it('is not tried again when that attempt cannot be recorded', async () => {
    const open = () => Promise.reject(new Error('down'));
    const { send, seen } = given({ answers: [answer('retry'), accepted], store: { open } });
    expect(await send()).toEqual({ kind: 'unavailable' });
    expect([seen.calls, seen.reports]).toEqual([1, ['problem ["message_not_sent"]']]);
  });

  it('is answered from its result while nothing can be looked up', async () => {
    let isUp = true;
    const resolve = () =>
      isUp ? Promise.resolve(RESOLVED) : Promise.reject(new Error('ClickHouse is down'));
    const { send, seen } = given({ resolve });
    const sent = await send();
    isUp = false;
    expect(await send()).toEqual({ ...sent, isReplay: true });
    expect(seen.reports).toEqual([]);
    const other = given({ resolve });
    expect(await other.send()).toEqual({ kind: 'unavailable' });
    isUp = true;
    expect(await other.send()).toMatchObject({ result: { status: 'sent' } });
  });

  it.each([
    ['sms', ['prepare', 'reserve model:1', 'call']],
    // Whoever prepares it stores to whom its tokens belong.
    ['email', ['reserve ', 'prepare', 'open model:1', 'call']],
  ] as const)('on the channel %s is recorded before it is handed over', async (channel, steps) => {
    const { send, seen } = given({ channel, template: { ...TEMPLATE, channel } });
    expect(await send()).toMatchObject({ result: { status: 'sent' } });
    expect(seen.steps).toEqual(steps);
  });

  it('whose key another one has is rendered in vain, and nothing is said of it', async () => {
    const prepared = { kind: 'finish', status: 'failed', reason: 'render_failed' } as const;
    const { send, seen } = given({ prepared: { ...prepared, detail: 'x' } });
    await send();
    await send();
    expect(seen.reports).toEqual(['problem ["render_failed"]']);
  });

  it('is in flight for everybody else', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { send } = given({
      answers: [answer('retry'), accepted],
      store: { open: () => promise },
    });
    const first = send();
    await new Promise((done) => setTimeout(done, 20));
    expect(await send()).toEqual({ kind: 'in_flight' });
    resolve(false);
    expect(await first).toEqual({ kind: 'in_flight' });
  });
});
