import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IN_FLIGHT, type Delivery, type Outcome } from '../../../pipeline/relays/delivery.ts';
import { BEFORE_FIRST } from '../../../schemas/log-position.ts';
import { MaintenanceStore } from '../../../pipeline/relays/maintenance-store.ts';
import { PositionMoved, RelayStore, type DeliveryResult } from '../../../pipeline/relays/store.ts';
import { connectPostgres, type Database } from '../../../platform/postgres/pool.ts';
import { createAccount, readyStack } from '../../support/stack.ts';

/** The statement of the control plane for POST /v1/relays/{id}/retry (RELAYS.md). */
const RETRY = `UPDATE relay_deliveries
   SET status = 'pending', attempts = 0, next_attempt_at = now(), pending_since = now(), finished_at = NULL
 WHERE relay_id = $1 AND account_id = $2 AND status = 'dead' AND payload <> ''`;

const LEASE = 60_000;
const SUCCESS: Outcome = { kind: 'succeeded', status: 204 };
const LATER: Outcome = { kind: 'retry', status: 503, error: 'down', delay: 0 };
const DEAD: Outcome = { kind: 'dead', status: 410, error: 'gone', isExhausted: false };

describe('the store of relays', () => {
  let database: Database;
  let accountId: number;
  let store: RelayStore;
  let maintenance: MaintenanceStore;
  let relayId: number;
  let partition = 0;

  beforeAll(async () => {
    database = connectPostgres({
      url: readyStack().database_url,
      log: pino({ level: 'silent' }),
      name: 'relay-store-test',
      max: 4,
    });
    accountId = (await createAccount('relay store')).accountId;
  });
  afterAll(async () => {
    await database.query('DELETE FROM relays WHERE account_id = $1', [accountId]);
    await database.query('DELETE FROM relay_positions WHERE partition >= 1000000');
    await database.end();
  });
  beforeEach(async () => {
    store = new RelayStore(database, `test/${randomUUID()}`);
    maintenance = new MaintenanceStore(database);
    // Beyond the partitions of any topic; the relay is disabled, so the running service ignores it.
    partition = 1_000_000 + Math.floor(Math.random() * 1e9);
    relayId = await saveRelay();
  });

  async function saveRelay(): Promise<number> {
    const { rows } = await database.query<{ id: string }>(
      'INSERT INTO relays (account_id, name, url, enabled) VALUES ($1, $2, $3, false) RETURNING id',
      [...[accountId, randomUUID(), 'https://example.com/']],
    );
    return Number(rows[0]?.id);
  }

  function delivery(offset: number, over: Partial<Delivery> = {}): Delivery {
    const position = { epoch: 0, partition, offset, index: 0 };
    return {
      relayId,
      accountId,
      position,
      messageId: `m${offset}`,
      event: 'e',
      payload: `{"n":${offset}}`,
      attempts: 0,
      ...over,
    };
  }

  /** Completes one delivery per outcome, at the offsets 1, 2, … */
  async function complete(
    outcomes: readonly DeliveryResult['outcome'][],
    first = 1,
  ): Promise<Map<number, number>> {
    const results = outcomes.map((outcome, at): DeliveryResult => ({
      delivery: delivery(first + at),
      outcome,
    }));
    const from = first === 1 ? BEFORE_FIRST : { epoch: 0, offset: first - 1, index: 0 };
    return store.complete({
      partition,
      from,
      to: { epoch: 0, offset: first + outcomes.length - 1, index: 0 },
      results,
      lease: LEASE,
    });
  }

  interface Row {
    message_id: string;
    status: string;
    attempts: number;
    response_status: number | null;
    error: string | null;
    payload: string | null;
    isFinished: boolean;
    isLeased: boolean;
  }

  async function log(): Promise<Row[]> {
    const { rows } = await database.query<Row>(
      `SELECT message_id, status, attempts, response_status, error, payload, finished_at IS NOT NULL AS "isFinished", leased_until IS NOT NULL AS "isLeased"
       FROM relay_deliveries WHERE relay_id = $1 ORDER BY id`,
      [relayId],
    );
    return rows;
  }

  async function counts(): Promise<unknown> {
    const { rows } = await database.query(
      'SELECT sum(succeeded)::int AS succeeded, sum(dead)::int AS dead, sum(failed_attempts)::int AS failed FROM relay_hours WHERE relay_id = $1',
      [relayId],
    );
    return rows[0];
  }

  /** Leases due rows of the relay. */
  async function claim(by = store, capacity = 10) {
    const endpoints = [{ relayId, accountId, isQuick: true, capacity }];
    const due = await by.due({ endpoints, limit: 100 });
    return by.claim({ ids: due.map(({ id }) => id), lease: LEASE });
  }

  it('stores the outcomes, the counts and the position in one transaction', async () => {
    await complete([
      SUCCESS,
      LATER,
      DEAD,
      { kind: 'waiting', delay: 5000, error: 'waits: no key' },
    ]);
    const plain = { isFinished: false, isLeased: false };
    expect(await log()).toEqual([
      {
        message_id: 'm1',
        status: 'succeeded',
        attempts: 1,
        response_status: 204,
        error: null,
        payload: null,
        isFinished: true,
        isLeased: false,
      },
      {
        message_id: 'm2',
        status: 'pending',
        attempts: 1,
        response_status: 503,
        error: 'down',
        payload: '{"n":2}',
        ...plain,
      },
      {
        message_id: 'm3',
        status: 'dead',
        attempts: 1,
        response_status: 410,
        error: 'gone',
        payload: '{"n":3}',
        isFinished: true,
        isLeased: false,
      },
      {
        message_id: 'm4',
        status: 'pending',
        attempts: 0,
        response_status: null,
        error: 'waits: no key',
        payload: '{"n":4}',
        ...plain,
      },
    ]);
    expect(await counts()).toEqual({ succeeded: 1, dead: 1, failed: 2 });
    expect(await store.position(partition)).toEqual({ epoch: 0, offset: 4, index: 0 });
  });

  it('applies a repeated completion once and answers it the same way', async () => {
    const first = await complete([SUCCESS, IN_FLIGHT, LATER]);
    expect([...first.keys()]).toEqual([1]);
    expect(await complete([SUCCESS, IN_FLIGHT, LATER])).toEqual(first);
    expect(await log()).toHaveLength(3);
    expect(await counts()).toEqual({ succeeded: 1, dead: 0, failed: 1 });
  });

  it('refuses a completion from another position', async () => {
    await complete([SUCCESS, SUCCESS]);
    const stale = store.complete({
      partition,
      from: BEFORE_FIRST,
      to: { epoch: 0, offset: 1, index: 0 },
      results: [{ delivery: delivery(1), outcome: SUCCESS }],
      lease: LEASE,
    });
    await expect(stale).rejects.toThrow(PositionMoved);
    expect(await counts()).toEqual({ succeeded: 2, dead: 0, failed: 0 });
  });

  it('ignores deliveries of a deleted relay', async () => {
    const results = [delivery(1, { relayId: 2_000_000_000 }), delivery(1)].map(
      (one): DeliveryResult => ({
        delivery: one,
        outcome: IN_FLIGHT,
      }),
    );
    const rows = await store.complete({
      partition,
      from: BEFORE_FIRST,
      to: { epoch: 0, offset: 1, index: 0 },
      results,
      lease: LEASE,
    });
    expect([...rows.keys()]).toEqual([1]);
  });

  it('stores texts with NUL, quotes and braces', async () => {
    const results: DeliveryResult[] = [
      {
        delivery: delivery(1, {
          messageId: 'a\u0000{"\\NULL"},',
          event: 'خرید "x", {y}',
          payload: '{"a":"\\u0000"}',
        }),
        outcome: LATER,
      },
    ];
    await store.complete({
      partition,
      from: BEFORE_FIRST,
      to: { epoch: 0, offset: 1, index: 0 },
      results,
      lease: LEASE,
    });
    const [claimed] = await claim();
    expect(claimed?.delivery).toEqual({
      ...delivery(1, {
        messageId: 'a\ufffd{"\\NULL"},',
        event: 'خرید "x", {y}',
        payload: '{"a":"\\u0000"}',
      }),
      attempts: 1,
    });
  });

  it('leases a due row to one process only until the lease expires', async () => {
    await complete(Array.from({ length: 20 }, () => LATER));
    const other = new RelayStore(database, 'test/other');
    const claimed = (await Promise.all([claim(), claim(other), claim(), claim(other)])).flat();
    expect(claimed.map(({ id }) => id).sort()).toEqual(
      [...new Set(claimed.map(({ id }) => id))].sort(),
    );
    expect(claimed).toHaveLength(20);
    expect(await claim()).toEqual([]);
    await database.query(
      `UPDATE relay_deliveries SET leased_until = now() - interval '1 second' WHERE relay_id = $1`,
      [relayId],
    );
    expect(await claim(other, 100)).toHaveLength(20);
  });

  it('accepts the outcome of a row from the owner of its lease, once', async () => {
    await complete([LATER, LATER, LATER, LATER]);
    const [a, b, c, d] = (await claim()).map(({ id }) => id);
    await new RelayStore(database, 'test/other').finish([{ id: a ?? 0, outcome: DEAD }]);
    const outcomes: { id: number; outcome: Outcome }[] = [
      { id: a ?? 0, outcome: SUCCESS },
      { id: b ?? 0, outcome: LATER },
      { id: c ?? 0, outcome: DEAD },
      { id: d ?? 0, outcome: { kind: 'waiting', delay: 60_000, error: null } },
    ];
    await store.finish(outcomes);
    await store.finish(outcomes);
    expect(
      (await log()).map(({ status, attempts, error, payload }) => ({
        status,
        attempts,
        error,
        hasPayload: payload !== null,
      })),
    ).toEqual([
      { status: 'succeeded', attempts: 2, error: null, hasPayload: false },
      { status: 'pending', attempts: 2, error: 'down', hasPayload: true },
      { status: 'dead', attempts: 2, error: 'gone', hasPayload: true },
      { status: 'pending', attempts: 1, error: 'down', hasPayload: true },
    ]);
    expect(await counts()).toEqual({ succeeded: 1, dead: 1, failed: 6 });
    expect((await claim()).map(({ id }) => id)).toEqual([b]);
  });

  it('releases the leases of a killed process', async () => {
    const instance = `killed-${randomUUID()}/`;
    const killed = new RelayStore(database, `${instance}1`);
    await complete([LATER, LATER]);
    expect(await claim(killed)).toHaveLength(2);
    expect(await claim()).toEqual([]);
    expect(await store.release(instance)).toBe(2);
    expect(await claim()).toHaveLength(2);
  });

  it('makes dead deliveries pending with ten more attempts (POST retry)', async () => {
    await complete([DEAD, SUCCESS, DEAD, LATER]);
    expect((await database.query(RETRY, [relayId, accountId + 1])).rowCount).toBe(0);
    expect((await database.query(RETRY, [relayId, accountId])).rowCount).toBe(2);
    const again = await claim();
    expect(again.map(({ delivery: one }) => [one.messageId, one.attempts]).sort()).toEqual([
      ['m1', 0],
      ['m3', 0],
      ['m4', 1],
    ]);
  });

  it('keeps the newest successes of each relay, and dead deliveries for their retention', async () => {
    await complete([SUCCESS, SUCCESS, SUCCESS, DEAD, DEAD, LATER]);
    await database.query(
      `UPDATE relay_deliveries SET finished_at = now() - interval '50 days' WHERE relay_id = $1 AND message_id = 'm4'`,
      [relayId],
    );
    await maintenance.pruneSuccesses([relayId], 1000);
    await maintenance.pruneDead(40 * 86_400_000);
    expect((await log()).map(({ message_id }) => message_id)).toEqual([
      'm1',
      'm2',
      'm3',
      'm5',
      'm6',
    ]);
    expect(await maintenance.withSuccesses()).toContain(relayId);
    expect(await maintenance.pruneSuccesses([relayId], 2)).toBe(1);
    expect((await log()).map(({ message_id }) => message_id)).toEqual(['m2', 'm3', 'm5', 'm6']);
    expect(await counts()).toEqual({ succeeded: 3, dead: 2, failed: 3 });
  });

  it('ends deliveries that were pending for too long', async () => {
    await complete([LATER, LATER, { kind: 'waiting', delay: 0, error: null }]);
    await database.query(
      `UPDATE relay_deliveries SET pending_since = now() - interval '121 minutes' WHERE relay_id = $1 AND message_id <> 'm2'`,
      [relayId],
    );
    const expiring = { relayId, age: 7_200_000, reason: 'too late' };
    expect(await maintenance.withExpired(7_200_000)).toContainEqual({ relayId, accountId });
    expect(await maintenance.expirePending({ ...expiring, isKept: true })).toBe(2);
    expect(await maintenance.expirePending({ ...expiring, isKept: true })).toBe(0);
    expect((await log()).map(({ status, error }) => [status, error])).toEqual([
      ['dead', 'down'],
      ['pending', 'down'],
      ['dead', 'too late'],
    ]);
    expect(await counts()).toEqual({ succeeded: 0, dead: 2, failed: 2 });
    // A relay with too many dead deliveries: the others are only counted.
    await database.query(
      `UPDATE relay_deliveries SET pending_since = now() - interval '121 minutes' WHERE relay_id = $1 AND status = 'pending'`,
      [relayId],
    );
    expect(await maintenance.expirePending({ ...expiring, isKept: false })).toBe(1);
    expect((await log()).map(({ message_id }) => message_id)).toEqual(['m1', 'm3']);
    expect(await counts()).toEqual({ succeeded: 0, dead: 3, failed: 2 });
  });

  it('only counts deliveries that the log does not keep', async () => {
    const outcomes: Outcome[] = [SUCCESS, DEAD, LATER, LATER];
    const results = outcomes.map((outcome, at) => ({
      ...{ delivery: delivery(at + 1), outcome },
      isKept: outcome.kind === 'retry',
    }));
    const to = { epoch: 0, offset: 4, index: 0 };
    await store.complete({ partition, from: BEFORE_FIRST, to, results, lease: LEASE });
    expect((await log()).map(({ message_id }) => message_id)).toEqual(['m3', 'm4']);
    const [a = { id: 0 }, b = { id: 0 }] = await claim();
    const finished = [
      { id: a.id, outcome: SUCCESS, isKept: false },
      { id: b.id, outcome: DEAD, isKept: false },
    ];
    await new RelayStore(database, 'test/other').finish(finished);
    expect(await log()).toHaveLength(2);
    await store.finish(finished);
    await store.finish(finished);
    expect(await log()).toEqual([]);
    expect(await counts()).toEqual({ succeeded: 2, dead: 2, failed: 4 });
  });

  it('counts the stored deliveries of each relay, whoever changes them', async () => {
    const stored = async () => {
      const found = (await store.queues()).find((queue) => queue.relayId === relayId);
      return found && [found.pending, found.dead];
    };
    const size = (rows: number) => ({ rows, bytes: rows * '{"n":1}'.length });
    await complete([SUCCESS, LATER, DEAD, LATER, IN_FLIGHT]);
    expect(await stored()).toEqual([size(3), size(1)]);
    const [first = { id: 0 }, second = { id: 0 }] = await claim();
    expect(await stored()).toEqual([size(3), size(1)]);
    await store.finish([
      { id: first.id, outcome: DEAD },
      { id: second.id, outcome: SUCCESS },
    ]);
    expect(await stored()).toEqual([size(1), size(2)]);
    await database.query(RETRY, [relayId, accountId]);
    expect(await stored()).toEqual([size(3), size(0)]);
    await database.query('DELETE FROM relay_deliveries WHERE relay_id = $1 AND log_offset = 3', [
      relayId,
    ]);
    expect(await stored()).toEqual([size(2), size(0)]);
    await database.query('DELETE FROM relays WHERE id = $1', [relayId]);
    expect([await stored(), await log()]).toEqual([undefined, []]);
  });

  it('counts no due rows of disabled relays', async () => {
    const before = await maintenance.dueRows();
    await complete([LATER, LATER, SUCCESS]);
    expect((await maintenance.dueRows()).due).toBe(before.due);
    expect((await maintenance.dueRows()).oldest).toBeGreaterThanOrEqual(0);
  });

  it('reads no relays of a suspended account, and sees at once when that changes', async () => {
    const other = (await createAccount('suspended relays')).accountId;
    const { rows } = await database.query<{ id: string }>(
      `INSERT INTO relays (account_id, name, url) VALUES ($1, 'one', 'http://127.0.0.1:1/') RETURNING id`,
      [other],
    );
    const isRead = async () =>
      (await store.relays()).rows.some(({ id }) => id === Number(rows[0]?.id));
    expect(await isRead()).toBe(true);
    for (const [status, expected] of [
      ['suspended', false],
      ['active', true],
    ] as const) {
      const before = Number(await store.revision());
      await database.query('UPDATE accounts SET status = $2 WHERE id = $1', [other, status]);
      expect(Number(await store.revision())).toBeGreaterThan(before);
      expect(await isRead()).toBe(expected);
    }
    await database.query('DELETE FROM relays WHERE account_id = $1', [other]);
  });

  it('disables a relay that has only failed for days, with an audit line', async () => {
    const days = 86_400_000;
    await database.query(
      `UPDATE relays SET enabled = true, url = 'http://127.0.0.1:1/', updated_at = now() - interval '8 days' WHERE id = $1`,
      [relayId],
    );
    await complete([DEAD]);
    const disabled = async () =>
      (await maintenance.disableFailing(7 * days)).map((one) => one.relayId);
    expect(await disabled()).not.toContain(relayId);
    await database.query(
      `INSERT INTO relay_hours (relay_id, hour, failed_attempts) VALUES ($1, date_trunc('hour', now() - interval '6 days 20 hours'), 100)`,
      [relayId],
    );
    await database.query('UPDATE relay_hours SET succeeded = 1 WHERE relay_id = $1', [relayId]);
    expect(await disabled()).not.toContain(relayId);
    await database.query('UPDATE relay_hours SET succeeded = 0 WHERE relay_id = $1', [relayId]);
    expect(await disabled()).toContain(relayId);
    const { rows } = await database.query(
      `SELECT r.enabled, r.disabled_reason, a.actor FROM relays r
       JOIN audit_lines a ON a.action = 'relay.disabled' AND (a.details->>'relay_id')::bigint = r.id WHERE r.id = $1`,
      [relayId],
    );
    expect(rows).toEqual([
      {
        enabled: false,
        disabled_reason: 'its endpoint answered no attempt with success for 7 days',
        actor: 'service:relays',
      },
    ]);
  });

  it('increments the revision at every change of a relay and reads the enabled ones', async () => {
    const before = Number(await store.revision());
    await database.query('UPDATE relays SET enabled = true, url = $2, filters = $3 WHERE id = $1', [
      relayId,
      'https://changed.example/',
      '[{"prop":"a","op":"exists"}]',
    ]);
    const { revision, rows } = await store.relays();
    expect(Number(revision)).toBeGreaterThan(before);
    expect(rows.find(({ id }) => id === relayId)).toMatchObject({
      accountId,
      url: 'https://changed.example/',
      events: [],
      filters: [{ prop: 'a', op: 'exists' }],
      secret: null,
    });
    await database.query('DELETE FROM relays WHERE id = $1', [relayId]);
    expect((await store.relays()).rows.some(({ id }) => id === relayId)).toBe(false);
    expect(await log()).toEqual([]);
  });
});
