import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COLUMNS } from '../../projections/events/insert-batch.ts';
import { killedAtUpdate } from '../support/killed-command.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';
import { dropShadow } from '../support/drop-shadow.ts';
import { startCommerceLoad, type SentEvents } from '../support/commerce-load.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  rows,
  type TestAccount,
  sleep,
} from '../support/stack.ts';
import { openClickhouse } from '../support/stack-clients.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const WHERE = 'WHERE account_id = {a:UInt64}';

interface ReplayReport {
  state: string;
  counts: Record<string, number>;
  profiles: null;
}

describe('G7: a replay of a range of the log', () => {
  const client = openClickhouse();
  let account: TestAccount;
  const ledger = new Ledger();
  const sayings: SentEvents = new Map();

  beforeAll(async () => {
    const ready = readyStack();
    account = await createAccount('replay');
    // What an interrupted run left behind would be in the way.
    await ravand('replay', '--cancel').catch(() => undefined);
    const load = startCommerceLoad({
      ready,
      account,
      ledger,
      sentEvents: sayings,
      people: 4,
      pause: FULL ? 60 : 150,
    });
    await sleep(FULL ? 30_000 : 5000);
    await load.stop();
    await untilStored(client, account.accountId, ledger);
    await eventually({ ms: 30_000, waitingFor: 'every event to be folded' }, async () => {
      const [found] = await rows<{ n: number }>(
        client,
        `SELECT sum(event_count) AS n FROM profiles FINAL ${WHERE}`,
        { a: account.accountId },
      );
      return found?.n === ledger.durable.size ? true : undefined;
    });
  });
  afterAll(() => dropShadow('events', 'replay_test'));

  const picture = async (table: string) =>
    rows(
      client,
      `SELECT ${COLUMNS.join(', ')} FROM ${table} ${WHERE} ORDER BY _partition, _offset, _index`,
      { a: account.accountId },
    );
  const profiles = async () =>
    rows(client, `SELECT * FROM profiles FINAL ${WHERE} ORDER BY name`, { a: account.accountId });
  const booksOf = async ({ accountId }: TestAccount) =>
    (
      JSON.parse(await ravand('status', '--json', '--account', String(accountId))) as {
        books: Record<string, number>;
      }
    ).books;
  const replay = async (...args: string[]) =>
    JSON.parse(
      await ravand('replay', '--account', String(account.accountId), '--json', ...args),
    ) as ReplayReport;
  const lose = async (condition: string) =>
    onAccount(client, account.accountId).command({
      query: `DELETE FROM events ${WHERE} AND ${condition}`,
      query_params: { a: account.accountId },
      clickhouse_settings: { lightweight_deletes_sync: '2' },
    });

  it('restores lost rows exactly, leaves profiles alone, and a second replay finds nothing to do', async () => {
    const [before, folded] = [await picture('events'), await profiles()];
    expect(before.length).toBe(ledger.durable.size);
    await lose('_offset % 3 = 1');
    const lost = before.length - (await picture('events')).length;
    expect(lost).toBeGreaterThan(0);
    const dry = await replay('--topic', 'events.raw', '--dry-run');
    expect(dry.counts).toMatchObject({
      new: lost,
      stored: before.length - lost,
      would_change: 0,
      duplicate: 0,
      expired: 0,
      dead: 0,
    });
    expect(await picture('events')).toHaveLength(before.length - lost);
    expect((await replay('--topic', 'events.raw')).counts).toMatchObject({ new: lost, refused: 0 });
    expect(await picture('events')).toEqual(before);
    expect(await profiles()).toEqual(folded);
    expect((await replay('--topic', 'events.raw')).counts).toMatchObject({
      new: 0,
      stored: before.length,
    });
  });

  // Minutes on a log that all tests before have filled: in the full form only.
  it.runIf(FULL)(
    'stores every row once when it is killed with -9 and resumed during live traffic',
    async () => {
      const [before, folded, balance] = [
        await picture('events'),
        await profiles(),
        await booksOf(account),
      ];
      await lose('_index % 2 = 0');
      const other = await createAccount('beside a replay');
      const [otherLedger, otherSayings] = [new Ledger(), new Map() as SentEvents];
      const load = startCommerceLoad({
        ready: readyStack(),
        account: other,
        ledger: otherLedger,
        sentEvents: otherSayings,
        people: 4,
        pause: FULL ? 50 : 150,
      });
      const command = [
        'replay',
        '--account',
        String(account.accountId),
        '--topic',
        'events.raw',
        '--json',
      ];
      // The range is recorded and nothing of it is stored; then its rows are stored and it is not
      // closed.
      await killedAtUpdate(command, { moment: 'after', update: /SET recorded/ });
      await killedAtUpdate(command, { moment: 'before', update: /SET positions/ });
      for (let kill = 0; kill < (FULL ? 8 : 0); kill++) {
        const child = spawn(
          process.execPath,
          [join(CHECKOUT, 'cli/main.ts'), ...command, '--rate', '400'],
          { stdio: 'ignore' },
        );
        const gone = new Promise((resolve) => child.once('exit', resolve));
        await sleep(1500 + Math.random() * 2500);
        child.kill('SIGKILL');
        await gone;
      }
      // It is the same replay when what it was asked for is the same, whatever its rate.
      const last = JSON.parse(await ravand(...command)) as ReplayReport;
      expect(last.state).toBe('finished');
      await load.stop();
      expect(await picture('events')).toEqual(before);
      expect(await profiles()).toEqual(folded);
      expect(await booksOf(account)).toEqual(balance);
      expect(await untilStored(client, other.accountId, otherLedger)).toEqual({
        lost: [],
        doubled: [],
        unknown: [],
      });
    },
    testTimeout(900_000),
  );

  it('writes the same rows into shadow tables from either topic', async () => {
    const live = await picture('events');
    for (const topic of ['events.raw', 'events.normalised']) {
      await dropShadow('events', 'replay_test');
      const report = await replay('--topic', topic, '--into', 'replay_test');
      expect(report.counts).toMatchObject({ new: live.length, stored: 0 });
      expect(await picture('events_replay_test')).toEqual(live);
    }
  });

  it('can be limited to offsets and an event name', async () => {
    const live = await picture('events');
    await lose("event = 'order_completed'");
    const left = await picture('events');
    expect(left.length).toBeLessThan(live.length);
    await replay('--topic', 'events.raw', '--event', 'order_refunded');
    expect(await picture('events')).toEqual(left);
    await replay('--topic', 'events.normalised', '--event', 'order_completed');
    expect(await picture('events')).toEqual(live);
  });
});
