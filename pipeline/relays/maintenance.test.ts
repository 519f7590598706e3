import pino from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { maintain } from './maintenance.ts';
import { relayMetrics } from './metrics.ts';
import { MAINTENANCE_ROWS } from './maintenance-statements.ts';

/** A round of maintenance with so much to do; `statements` records what it ran. */
async function roundWith(
  due: Partial<Record<'expired' | 'successes' | 'dead' | 'hours', number>>,
  { keepsDead = true, isPruning = true } = {},
) {
  const left = { expired: 0, successes: 0, dead: 0, hours: 0, ...due };
  const statements: string[] = [];
  const registry = new Registry();
  const change = (kind: keyof typeof left, text: string = kind) => {
    statements.push(text);
    const rows = Math.min(left[kind], MAINTENANCE_ROWS);
    left[kind] -= rows;
    return Promise.resolve(rows);
  };
  await maintain(
    {
      store: {
        withExpired: () => Promise.resolve(due.expired ? [{ relayId: 3, accountId: 1 }] : []),
        expirePending: ({ relayId, reason, isKept }) =>
          change('expired', `expire ${relayId}, ${isKept ? reason : 'only counted'}`),
        withSuccesses: () => Promise.resolve(Array.from({ length: 60 }, (_, at) => at)),
        pruneSuccesses: (relayIds) => change('successes', `prune ${relayIds.length} relays`),
        pruneDead: () => change('dead'),
        pruneHours: () => change('hours'),
        dueRows: () => Promise.resolve({ due: 4, oldest: 1000 }),
        disableFailing: () => Promise.resolve([]),
      },
      queues: { failingSince: () => [] },
      deliveryLog: {
        read: () =>
          Promise.resolve([
            {
              ...{ relayId: 3, accountId: 1 },
              ...{ pending: { rows: 5, bytes: 50 }, dead: { rows: 6, bytes: 60 } },
            },
          ]),
        keepsDead: () => keepsDead,
      },
      metrics: relayMetrics(registry, { phases: () => [], attemptsNow: () => 0 }),
      log: pino({ level: 'silent' }),
      now: () => 0,
      signal: new AbortController().signal,
      ...{ keep: 10, retention: 1, pendingRetention: 72 * 3_600_000, disableAfter: 1 },
    },
    { isPruning },
  );
  return { left, statements, metrics: await registry.metrics() };
}

describe('maintenance', () => {
  test('ends everything that has been pending for too long, in bounded statements', async () => {
    const { left, statements, metrics } = await roundWith({ expired: 2500 }, { isPruning: false });
    expect(left.expired).toBe(0);
    const statement = 'expire 3, not delivered within 72 hours';
    expect(statements).toEqual([statement, statement, statement]);
    expect(metrics).toContain('ravand_relay_given_up_total{reason="expired"} 2500');
  });

  test('only counts what expires when the dead log of the relay is full', async () => {
    const { statements, metrics } = await roundWith(
      { expired: 10 },
      { keepsDead: false, isPruning: false },
    );
    expect(statements).toEqual(['expire 3, only counted']);
    expect(metrics).toContain('ravand_relay_not_kept_total 10');
  });

  test('prunes everything, in bounded statements of few relays each', async () => {
    const { left, statements } = await roundWith({ successes: 1000, dead: 2000, hours: 1 });
    expect(left).toEqual({ expired: 0, successes: 0, dead: 0, hours: 0 });
    expect(statements).toEqual([
      ...['prune 50 relays', 'prune 50 relays', 'prune 10 relays'],
      ...['dead', 'dead', 'dead', 'hours'],
    ]);
  });

  test('measures the stored deliveries from their counts', async () => {
    const { metrics } = await roundWith({});
    expect(metrics).toContain('ravand_relay_queue_rows{state="pending"} 5');
    expect(metrics).toContain('ravand_relay_queue_rows{state="dead"} 6');
    expect(metrics).toContain('ravand_relay_queue_bytes{state="dead"} 60');
    expect(metrics).toContain('ravand_relay_queue_rows{state="due"} 4');
    expect(metrics).toContain('ravand_relay_queue_oldest_seconds 1');
  });
});
