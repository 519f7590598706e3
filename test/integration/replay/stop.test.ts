import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import { endWithTest } from '../../support/end-with-test.ts';
import {
  createAccount,
  eventually,
  serviceStatus,
  ravand,
  readyStack,
  rows,
  sleep,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse } from '../../support/stack-clients.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const TABLES = ['profiles_stop_test', 'events_stop_test', 'events_stop_replay'];

interface Report {
  state: string;
  comparison: { differing: number; equal: number } | null;
}

const clickhousePort = () => Number(new URL(readyStack().clickhouse_url).port);

/** Whether the process has a TCP connection to a port of this machine. */
function isConnected(pid: number, port: number): boolean {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const connections = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, 'utf8').split('\n'),
  );
  const inodes = new Set(
    connections
      .map((line) => line.trim().split(/\s+/))
      .flatMap(([, , remote, , , , , , , inode]) => (remote?.endsWith(end) ? [inode] : [])),
  );
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [];
      return inode !== undefined && inodes.has(inode);
    } catch {
      return false;
    }
  });
}

describe('a rebuild or a replay', () => {
  const client = openClickhouse();
  let account: TestAccount;
  let sent = 0;
  /** The account has no earlier record; of other accounts few are later. */
  let from = '';
  const drop = async () => {
    for (const table of TABLES)
      await client.command({ query: `DROP TABLE IF EXISTS ${table} SYNC` });
  };
  /** Sends events and waits until the profiles have folded them. */
  const send = async (count: number) => {
    const batch = Array.from({ length: count }, (_, at) => ({
      type: 'track',
      event: 'seen',
      user_id: `u-${at % 40}`,
      message_id: `m-${sent + at}`,
    }));
    expect(
      (await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch })).status,
    ).toBe(200);
    sent += count;
    await eventually({ ms: 60_000, waitingFor: 'every event to be folded' }, async () => {
      const sql = 'SELECT sum(event_count) AS n FROM profiles FINAL WHERE account_id = {a:UInt64}';
      const [found] = await rows<{ n: number }>(client, sql, { a: account.accountId });
      return found?.n === sent ? true : undefined;
    });
  };
  const rebuild = async (...args: string[]) =>
    JSON.parse(await ravand('rebuild', ...args, '--into', 'stop_test', '--json')) as Report;
  const start = (...args: string[]): ChildProcess => {
    const command = [join(CHECKOUT, 'cli/main.ts'), ...args];
    const child = spawn(process.execPath, command, { stdio: 'ignore' });
    endWithTest(child);
    return child;
  };
  const ended = async (child: ChildProcess) => {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  };

  beforeAll(async () => {
    account = await createAccount('stopped jobs');
    await ravand('replay', '--cancel').catch(() => undefined);
    await drop();
    from = new Date(Date.now() - 1000).toISOString();
    await send(100);
  });
  afterAll(async () => {
    await drop();
  });

  it.each(['profiles', 'events'])(
    'of %s starts again when its shadow table was dropped',
    async (projection) => {
      expect(await rebuild(projection)).toMatchObject({ state: 'caught up' });
      await drop();
      await send(50);
      const { state, comparison } = await rebuild(projection, '--compare');
      expect(state).toBe('caught up');
      expect(comparison).toMatchObject({ differing: 0 });
      expect(comparison?.equal).toBeGreaterThan(0);
    },
  );

  it.each([
    ['rebuild', 'profiles', '--into', 'stop_test'],
    ['rebuild', 'events', '--into', 'stop_test', '--swap'],
    ['replay', '--topic', 'events.raw', '--into', 'stop_replay', '--rate', '1'],
  ])(
    'ends on SIGTERM although ClickHouse does not answer, and the same command resumes it: %s %s',
    async (...args) => {
      await send(20);
      const { pid } = await serviceStatus('clickhouse');
      process.kill(pid ?? 0, 'SIGSTOP');
      try {
        const child = start(...args);
        const over = ended(child);
        await eventually({ ms: 60_000, waitingFor: 'the job to query ClickHouse' }, () =>
          Promise.resolve(isConnected(child.pid ?? 0, clickhousePort()) || undefined),
        );
        expect(child.exitCode).toBeNull();
        child.kill('SIGTERM');
        expect(await over).toBe(1);
      } finally {
        process.kill(pid ?? 0, 'SIGCONT');
      }
      await eventually({ ms: 30_000, waitingFor: 'ClickHouse to answer' }, async () =>
        (await rows(client, 'SELECT 1')).length === 1 ? true : undefined,
      );
      if (args[0] === 'replay')
        await ravand('replay', '--cancel', '--into', 'stop_replay').catch(() => undefined);
      else if (!args.includes('--swap'))
        expect(await rebuild('profiles', '--compare')).toMatchObject({
          state: 'caught up',
          comparison: { differing: 0 },
        });
    },
  );

  it('into a table excludes the other until --cancel ends it and drops the table', async () => {
    expect(await rebuild('events')).toMatchObject({ state: 'caught up' });
    const child = start('rebuild', 'events', '--into', 'stop_test');
    const over = ended(child);
    await sleep(700);
    child.kill('SIGKILL');
    await over;
    const replay = [
      'replay',
      '--topic',
      'events.raw',
      '--from',
      from,
      '--into',
      'stop_test',
      '--json',
    ];
    const refused = await ravand(...replay).then(
      () => '',
      (error: unknown) => (error as { stderr: string }).stderr,
    );
    // Killed before it took the job over, it left the previous one finished.
    if (refused !== '')
      expect(refused).toContain('./ravand rebuild events --into stop_test --cancel');
    expect(await ravand('rebuild', 'events', '--into', 'stop_test', '--cancel')).toContain(
      'events_stop_test is dropped',
    );
    expect(
      await rows(
        client,
        "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'events_stop_test'",
      ),
    ).toEqual([]);
    await expect(
      ravand('rebuild', 'events', '--into', 'stop_test', '--cancel'),
    ).rejects.toMatchObject({
      stderr: expect.stringContaining('no rebuild of events into events_stop_test') as string,
    });
  });

  it('that SIGTERM stops between two batches is resumed by the same command', async () => {
    await client.command({ query: 'DROP TABLE IF EXISTS events_stop_replay SYNC' });
    const command = [
      'replay',
      '--account',
      String(account.accountId),
      '--topic',
      'events.raw',
      '--from',
      from,
      '--into',
      'stop_replay',
      '--json',
    ];
    const child = start(...command, '--rate', '40');
    const over = ended(child);
    await eventually({ ms: 30_000, waitingFor: 'the first rows' }, async () =>
      (
        await rows(
          client,
          "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'events_stop_replay' AND total_rows > 0",
        )
      ).length > 0
        ? true
        : undefined,
    );
    child.kill('SIGTERM');
    expect(await over).toBe(1);
    expect(JSON.parse(await ravand(...command))).toMatchObject({ state: 'finished' });
    const positions = (table: string) =>
      rows(
        client,
        `SELECT _partition, _offset, _index FROM ${table} WHERE account_id = {a:UInt64} ORDER BY ALL`,
        { a: account.accountId },
      );
    expect(await positions('events_stop_replay')).toEqual(await positions('events'));
  });
});
