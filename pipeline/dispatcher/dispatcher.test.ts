import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../platform/postgres/testing/migrated-database.ts';
import { DispatchWorld, type Receiver } from './testing/dispatch-world.ts';

let postgres: MigratedDatabase;
let world: DispatchWorld;

const SENT: Receiver = {
  answer: (person) => Promise.resolve({ kind: 'sent', providerMessageId: person }),
};
const SILENT: Receiver = { answer: () => undefined };

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0060', '0070', '0071']);
}, 60_000);
afterAll(() => postgres.close());

beforeEach(async () => {
  const tables =
    'message_chunks, campaign_run_counts, message_totals, message_meters, message_outbox, message_sender_rates, campaigns, accounts';
  await postgres.database.query(`TRUNCATE ${tables} CASCADE`);
  world = new DispatchWorld(postgres);
});
afterEach(() => world.close());

function change(runId: number, set: string): Promise<unknown> {
  return postgres.database.query(`UPDATE campaign_runs SET ${set} WHERE id = $1`, [runId]);
}

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return (await postgres.database.query<Record<string, unknown>>(text)).rows;
}

describe('a dispatcher', () => {
  it('sends each recipient of a run once', async () => {
    world.receivers.set(1, SENT);
    await world.addRun({ id: 7, accountId: 1, chunks: 12, recipients: 40 });
    world.open();
    await world.untilCounted(7, 480);
    expect(await world.counts(7)).toEqual({ sent: 480 });
    expect(new Set(world.called).size).toBe(480);
    expect(world.called.length).toBe(480);
  });

  it('shares the chunks of a run with others', async () => {
    world.receivers.set(1, SENT);
    await world.addRun({ id: 7, accountId: 1, chunks: 20, recipients: 20 });
    world.open({ slots: 4 });
    world.open({ slots: 4 });
    await world.untilCounted(7, 400);
    expect(await world.counts(7)).toEqual({ sent: 400 });
    expect(world.called.length).toBe(400);
  });

  it('lets nobody wait for a sender that never answers', async () => {
    world.receivers.set(1, SILENT);
    world.receivers.set(2, SENT);
    await world.addRun({ id: 7, accountId: 1, chunks: 40, recipients: 40 });
    world.open({ slots: 8, maxCalls: 40 });
    await world.until(() => world.called.length >= 10);
    await world.addRun({ id: 9, accountId: 2, chunks: 10, recipients: 40 });
    await world.untilCounted(9, 400);
    expect(await world.counts(9)).toEqual({ sent: 400 });
  });

  it('lets nobody wait for a sender that fails, and tries it again later', async () => {
    let fails = true;
    world.receivers.set(1, {
      answer: () =>
        Promise.resolve(fails ? { kind: 'retry' } : { kind: 'sent', providerMessageId: '' }),
    });
    world.receivers.set(2, SENT);
    await world.addRun({ id: 7, accountId: 1, chunks: 2, recipients: 10 });
    await world.addRun({ id: 9, accountId: 2, chunks: 10, recipients: 40 });
    const dispatcher = world.open({ slots: 2 });
    await world.untilCounted(9, 400);
    await world.until(() => dispatcher.chunks === 0);
    const before = world.called.length;
    expect(before).toBeLessThan(450);
    fails = false;
    await world.untilCounted(7, 20);
    expect(await world.counts(7)).toEqual({ sent: 20 });
  }, 30_000);

  it('opens nothing more of a run that is paused, and goes on when it is resumed', async () => {
    const gate = Promise.withResolvers<undefined>();
    world.receivers.set(1, {
      limits: { perSecond: undefined, concurrency: 5 },
      answer: async (person) => {
        await gate.promise;
        return { kind: 'sent', providerMessageId: person };
      },
    });
    await world.addRun({ id: 7, accountId: 1, chunks: 4, recipients: 20 });
    const dispatcher = world.open();
    await world.until(() => world.called.length === 5);
    await change(7, 'paused = true');
    gate.resolve(undefined);
    await world.until(() => dispatcher.chunks === 0);
    expect(world.called.length).toBe(5);
    expect(await world.counts(7)).toEqual({ sent: 5 });
    await change(7, 'paused = false');
    await world.untilCounted(7, 80);
    expect(await world.counts(7)).toEqual({ sent: 80 });
    expect(world.called.length).toBe(80);
  });

  it('ends those who wait when their run is cancelled, also while calls are open', async () => {
    world.receivers.set(1, { ...SILENT, limits: { perSecond: undefined, concurrency: 5 } });
    await world.addRun({ id: 7, accountId: 1, chunks: 4, recipients: 20 });
    const dispatcher = world.open({ leaseMs: 1000 });
    await world.until(() => world.called.length === 5);
    await change(7, 'cancelled = true');
    await world.untilCounted(7, 75);
    expect(await world.counts(7)).toEqual({ 'skipped cancelled': 75 });
    expect(dispatcher.chunks).toBeGreaterThan(0);
    await dispatcher.stop(10);
    expect(await world.counts(7)).toEqual({ 'skipped cancelled': 75, 'failed outcome_unknown': 5 });
  });

  it('resolves the attempts of a process that was killed when its leases have run out', async () => {
    world.receivers.set(1, { ...SILENT, limits: { perSecond: undefined, concurrency: 6 } });
    await world.addRun({ id: 7, accountId: 1, chunks: 1, recipients: 20 });
    await postgres.database.query(
      `UPDATE message_chunks SET opened = '\\x070000', opened_with = 'fcm:1', leased_by = 'killed/1', leased_until = now() + interval '300 milliseconds'`,
    );
    world.receivers.set(1, SENT);
    world.open();
    await world.untilCounted(7, 20);
    expect(await world.counts(7)).toEqual({ sent: 17, 'failed outcome_unknown': 3 });
    expect(world.called.length).toBe(17);
  });

  describe.each([
    ['is paused', 'UPDATE campaign_runs SET paused =', 'true', 'false'],
    ['is of a suspended account', 'UPDATE accounts SET status =', `'suspended'`, `'active'`],
  ])('when a run %s', (_, set, held, free) => {
    it.each([false, true])(
      'ends the attempts that a killed process left open, and opens none (idempotent provider: %s)',
      async (isIdempotent) => {
        world.receivers.set(1, { ...SENT, isIdempotent });
        await world.addRun({ id: 7, accountId: 1, chunks: 2, recipients: 20 });
        await postgres.database.query(
          `UPDATE message_chunks SET opened = '\\x070000', opened_with = 'fcm:1', leased_by = 'killed/1', leased_until = now() + interval '300 milliseconds' WHERE chunk = 0`,
        );
        await postgres.database.query(`${set} ${held}`);
        const dispatcher = world.open();
        await world.untilCounted(7, 3);
        expect(await world.counts(7)).toEqual({ 'failed outcome_unknown': 3 });
        await world.until(() => dispatcher.chunks === 0);
        await postgres.database.query(`${set} ${free}`);
        await world.untilCounted(7, 40);
        expect(await world.counts(7)).toEqual({ sent: 37, 'failed outcome_unknown': 3 });
        expect(world.called.length).toBe(37);
      },
    );
  });

  it('keeps everybody of a paused run, although its deadline has passed and its sender cannot send', async () => {
    world.receivers.set(1, { answer: () => Promise.resolve({ kind: 'retry' }) });
    await world.addRun({ id: 7, accountId: 1, chunks: 2, recipients: 20 });
    const dispatcher = world.open();
    await world.until(() => world.called.length > 0 && dispatcher.chunks === 0);
    await postgres.database.query(
      `UPDATE message_chunks SET opened = '\\x070000', opened_with = 'fcm:1', leased_by = 'killed/1', leased_until = now(), retries = '[]' WHERE chunk = 0`,
    );
    await change(7, "paused = true, deadline_at = now() - interval '1 second'");
    await world.untilCounted(7, 3);
    await world.until(() => dispatcher.chunks === 0);
    expect(await world.counts(7)).toEqual({ 'failed outcome_unknown': 3 });
  });

  it('skips everybody on a channel that is not configured', async () => {
    await world.addRun({ id: 7, accountId: 1, chunks: 3, recipients: 20 });
    world.open();
    await world.untilCounted(7, 60);
    expect(await world.counts(7)).toEqual({ 'skipped channel_not_configured': 60 });
  });

  it('ends those whose sender cannot send until the deadline of the run', async () => {
    world.receivers.set(1, { answer: () => Promise.resolve({ kind: 'retry' }) });
    await world.addRun({ id: 7, accountId: 1, chunks: 3, recipients: 20 });
    const dispatcher = world.open();
    await world.until(() => world.called.length > 0 && dispatcher.chunks === 0);
    await change(7, "deadline_at = now() - interval '1 second'");
    await world.untilCounted(7, 60);
    expect(await world.counts(7)).toEqual({ 'failed deadline': 60 });
  }, 30_000);

  it('ends those who wait when the deadline of the run has passed, although their sender works', async () => {
    world.receivers.set(1, SENT);
    await world.addRun({ id: 7, accountId: 1, chunks: 40, recipients: 20, control: 3 });
    await change(7, "deadline_at = now() - interval '1 second'");
    await postgres.database.query(
      "UPDATE message_chunks SET next_at = now() + interval '1 hour' WHERE chunk > 10",
    );
    world.open();
    await world.untilCounted(7, 800);
    expect(await world.counts(7)).toEqual({
      'failed deadline': 680,
      'withheld control_group': 120,
    });
    expect(world.called).toEqual([]);
  });

  it('sends past the deadline what waits for the limit of a sender that works', async () => {
    world.receivers.set(1, { ...SENT, limits: { perSecond: 10, concurrency: 100 } });
    await world.addRun({ id: 7, accountId: 1, chunks: 2, recipients: 20 });
    await change(7, "deadline_at = now() + interval '3 seconds'");
    world.open();
    await world.untilCounted(7, 40);
    expect(await world.counts(7)).toEqual({ sent: 40 });
    const [run] = await rows('SELECT deadline_at > now() AS is_later FROM campaign_runs');
    expect(run).toEqual({ is_later: true });
  });

  it('withholds from the control group also when the run is cancelled', async () => {
    await world.addRun({ id: 7, accountId: 1, chunks: 2, recipients: 20, control: 3 });
    await change(7, 'cancelled = true');
    world.open();
    await world.untilCounted(7, 40);
    expect(await world.counts(7)).toEqual({
      'skipped cancelled': 34,
      'withheld control_group': 6,
    });
  });

  it('gives its leases back when it stops: another one goes on at once', async () => {
    world.receivers.set(1, {
      limits: { perSecond: 50, concurrency: 100 },
      answer: (person) => Promise.resolve({ kind: 'sent', providerMessageId: person }),
    });
    await world.addRun({ id: 7, accountId: 1, chunks: 3, recipients: 20 });
    const first = world.open({ leaseMs: 600_000 });
    await world.until(() => world.called.length > 0);
    await first.stop(1000);
    world.open();
    await world.untilCounted(7, 60);
    expect(await world.counts(7)).toEqual({ sent: 60 });
    expect(world.called.length).toBe(60);
  });

  it('continues with another sender when it was changed', async () => {
    world.receivers.set(1, {
      limits: { perSecond: 20, concurrency: 100 },
      answer: (person) => Promise.resolve({ kind: 'sent', providerMessageId: person }),
    });
    await world.addRun({ id: 7, accountId: 1, chunks: 2, recipients: 40 });
    world.open();
    await world.until(() => world.called.length > 0);
    world.revisions.set(1, 2);
    world.receivers.set(1, SENT);
    await world.untilCounted(7, 80);
    expect(await world.counts(7)).toEqual({ sent: 80 });
    expect(world.called.length).toBe(80);
  });

  it('sends when recipients can be looked up again', async () => {
    world.receivers.set(1, SENT);
    world.prepareFails = true;
    await world.addRun({ id: 7, accountId: 1, chunks: 2, recipients: 20 });
    const dispatcher = world.open();
    await world.until(() => dispatcher.chunks === 0);
    world.prepareFails = false;
    await world.untilCounted(7, 40);
    expect(await world.counts(7)).toEqual({ sent: 40 });
  });
});
