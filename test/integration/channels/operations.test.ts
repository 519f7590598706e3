import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { addressesOf } from '../../support/channels/person.ts';
import { readClickhouseState } from '../../support/channels/stored-channels.ts';
import { post } from '../../support/client.ts';
import {
  createAccount,
  eventually,
  FULL,
  readyStack,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const client = openClickhouse();
const database = openPostgres();
let account: TestAccount;

beforeAll(async () => {
  account = await createAccount('operations of channels');
});

/** Runs `./ravand …`, whatever it exits with; -1 when it did not end in time. */
function run(...args: string[]): Promise<{ code: number; text: string }> {
  return new Promise((resolve) => {
    const options = { timeout: 200_000, maxBuffer: 2 ** 26 };
    execFile(join(CHECKOUT, 'ravand'), args, options, (error, stdout, stderr) =>
      resolve({ code: !error ? 0 : Number(error.code ?? -1), text: stdout + stderr }),
    );
  });
}

/** Resolves with the trace of the request. */
async function register(device_id: string, user_id: string): Promise<string> {
  const body = { device_id, user_id, platform: 'ios', push_token: `token of ${device_id}` };
  const answer = await post(`${readyStack().ingest_url}/v1/devices`, account.writeKey, body);
  expect(answer.status).toBe(200);
  return answer.headers.get('x-service-trace') ?? '';
}

const known = async (user: string) => (await addressesOf(account.accountId, user)).addresses;
const untilKnown = (user: string, count: number) =>
  eventually({ ms: 60_000, every: 500, waitingFor: `the devices of ${user}` }, async () =>
    (await known(user)).length === count ? true : undefined,
  );

interface Rebuilt {
  state: string;
  rows: number;
  comparison: { differing: number; compared: number } | null;
}

async function rebuild(...more: string[]): Promise<{ code: number; report: Rebuilt }> {
  const { code, text } = await run('rebuild', 'addresses', ...more, '--json');
  const line = text.split('\n').find((one) => one.startsWith('{')) ?? '{}';
  return { code, report: JSON.parse(line) as Rebuilt };
}

describe('operators of channels', () => {
  it('find the change that a request made by its trace', async () => {
    const trace = await register('traced', 'reza');
    await untilKnown('reza', 1);
    const { text } = await run('why', '--trace', trace, '--json');
    const { commands } = JSON.parse(text) as { commands: object[] };
    expect(commands).toMatchObject([
      { account_id: account.accountId, kind: 'device_registered', channel: 'push', applied: true },
    ]);
  }, 60_000);

  it('compare the addresses with the log, and mend what differs', async () => {
    await register('a', 'ali');
    await untilKnown('ali', 1);
    // Of other accounts something may differ: other tests have the same stack.
    const before = await rebuild('--compare');
    expect(before.report.state).toBe('caught up');
    const others = before.report.comparison?.differing ?? 0;
    await database.query(
      `UPDATE channel_addresses SET user_id = 'nobody' WHERE account_id = $1 AND address_id = 'a'`,
      [account.accountId],
    );
    const found = await rebuild('--compare');
    // The register itself, and what ClickHouse has of it.
    expect([found.code, found.report.comparison?.differing]).toEqual([1, others + 2]);
    const swapped = await rebuild('--swap', '--accept-gaps');
    expect(swapped).toMatchObject({ code: 0, report: { state: 'swapped' } });
    expect(await known('ali')).toHaveLength(1);
    expect((await rebuild('--compare')).report.comparison?.differing).toBe(0);
  }, 180_000);

  it('see in status that no command is missing', async () => {
    const { text } = await run('status', '--json', '--account', String(account.accountId));
    const { commands } = JSON.parse(text) as { commands: object };
    expect(commands).toMatchObject({ accepted: 2, applied: 2, missing: 0 });
  });

  it('erase somebody who only registered a device, and a rebuild does not bring them back', async () => {
    await register('phone', 'sara');
    await register('tablet', 'sara-2');
    await Promise.all([untilKnown('sara', 1), untilKnown('sara-2', 1)]);
    // On this stack other tests have left gateways that died with events in their spools.
    const erased = await run(
      ...['erase', '--account', String(account.accountId), '--user-id', 'sara', '--forget'],
    );
    expect(erased).toMatchObject({ code: 0 });
    expect([await known('sara'), (await known('sara-2')).length]).toEqual([[], 1]);
    const stored = async () => Object.keys(await readClickhouseState(client, account.accountId));
    expect(await stored()).toContain('push tablet');
    expect(await stored()).not.toContain('push phone');
    const again = await rebuild('--swap', '--accept-gaps');
    expect(again).toMatchObject({ code: 0, report: { state: 'swapped' } });
    expect(await known('sara')).toEqual([]);
    expect(await stored()).not.toContain('push phone');
    const { rows } = await database.query<{ id: string }>(
      'SELECT id FROM erasures WHERE account_id = $1',
      [account.accountId],
    );
    const id = rows[0]?.id ?? '';
    const verify = async () => {
      const { text } = await run('erase', 'verify', id, '--text', 'token of phone', '--json');
      const { findings } = JSON.parse(text) as { findings: { place: string }[] };
      return findings.map(({ place }) => place);
    };
    expect(await verify()).toEqual(['channel.commands']);
    if (!FULL) return;
    expect(await run('erase', 'rewrite')).toMatchObject({ code: 0 });
    expect(await verify()).toEqual([]);
    expect((await rebuild('--compare')).report.comparison?.differing).toBe(0);
    // The sink goes on with the rewritten topic.
    await register('new phone', 'sara');
    await untilKnown('sara', 1);
  }, 400_000);
});
