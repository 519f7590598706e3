import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { control, enter } from '../../contract/control/panel.ts';
import { post } from '../../support/client.ts';
import {
  createAccount,
  eventually,
  FULL,
  readyStack,
  rows,
  serviceStatus,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { withRefusedEvent } from './faults.ts';

const EVENTS = 3;
const client = openClickhouse();
const postgres = openPostgres();

/** Processes that a process has started. */
function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it('a redrive whose operator is killed in the middle goes on in the next one, and stores each event once', async () => {
  const account = await createAccount('killed operator');
  const session = await enter(String(account.accountId));
  const event = `refused_${randomUUID().replaceAll('-', '')}`;
  const causes = async () => {
    const { body } = await control('GET', '/v1/on-call', { session });
    return (body as { dead_letters: { group: string; waiting: number }[] }).dead_letters;
  };
  const group = await withRefused(event, async () => {
    for (let at = 0; at < EVENTS; at++) {
      const batch = [{ type: 'track', event, user_id: `u${at}` }];
      const answer = await post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch });
      expect(answer.status).toBe(200);
    }
    return await eventually({ ms: 60_000, waitingFor: 'the dead letters' }, async () => {
      const [cause] = await causes();
      return cause?.waiting === EVENTS ? cause.group : undefined;
    });
  });
  const { pid: operator } = await serviceStatus('operator');
  if (operator === null) throw new Error('the operator does not run');
  const asked = await control('POST', '/v1/operations', {
    ...{ session, headers: { 'content-type': 'application/json' } },
    body: { kind: 'dead_letters.redrive', input: { group, dry_run: false } },
  });
  expect(asked.status).toBe(202);
  const { id } = asked.body as { id: number };
  const begun = async () => {
    const { rows: lines } = await postgres.query(
      `SELECT id FROM audit_lines WHERE account_id = $1 AND action = 'dead_letters.redrive_started'`,
      [account.accountId],
    );
    return lines.length;
  };
  // It has written its audit line, and connects to Kafka: nothing is redriven yet.
  const waitingFor = 'the command of the redrive';
  const command = await eventually({ ms: 30_000, every: 5, waitingFor }, async () =>
    (await begun()) === 1 ? childrenOf(operator)[0] : undefined,
  );
  process.kill(operator, 'SIGKILL');
  await eventually({ ms: 15_000, waitingFor: 'the end of the command' }, () =>
    Promise.resolve(isAlive(command) ? undefined : true),
  );
  const stateOf = async () => {
    const { body } = await control('GET', `/v1/operations/${id}`, { session });
    return body as { state: string };
  };
  expect(await stateOf()).toMatchObject({ state: 'running' });
  // The long form waits until the lease of the killed process has run out.
  if (!FULL) await postgres.query('UPDATE operations SET leased_until = now() WHERE id = $1', [id]);
  const ended = await eventually({ ms: 90_000, waitingFor: 'the redrive' }, async () => {
    const operation = await stateOf();
    return operation.state === 'running' ? undefined : operation;
  });
  expect(ended).toMatchObject({ state: 'succeeded', error: '', result: { uncertain: 0 } });
  expect(await begun()).toBe(2);
  const stored = await eventually({ ms: 30_000, waitingFor: 'the events' }, async () => {
    const found = await rows<{ user_id: string }>(
      client,
      'SELECT user_id FROM events WHERE account_id = {account:UInt64} AND event = {event:String} ORDER BY user_id',
      { account: account.accountId, event },
    );
    return found.length >= EVENTS ? found.map(({ user_id }) => user_id) : undefined;
  });
  expect(stored).toEqual(['u0', 'u1', 'u2']);
});

/** What `work` resolves with, while ClickHouse refuses rows of the event. */
async function withRefused<Result>(event: string, work: () => Promise<Result>): Promise<Result> {
  const results: Result[] = [];
  await withRefusedEvent(event, async () => {
    results.push(await work());
  });
  const [result] = results;
  if (result === undefined) throw new Error('the work has no result');
  return result;
}
