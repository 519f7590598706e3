import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { post } from '../../support/client.ts';
import { admin, createAccount, eventually, ravand, readyStack } from '../../support/stack.ts';

interface Person {
  canonical_id: string;
  profile: { events: number } | null;
  ids: {
    distinct_id: string;
    merged_into: string | null;
    event: { message_id: string; app: string | null; source: string } | null;
  }[];
  decisions: { kind: string }[];
}

interface Change {
  account_id: number | null;
  actor: string;
  action: string;
  details: Record<string, unknown>;
}

const json = async <T>(...args: string[]) => JSON.parse(await ravand(...args, '--json')) as T;

async function changesOf(accountId: number): Promise<Change[]> {
  return (await json<{ changes: Change[] }>('changes', '--account', String(accountId))).changes;
}

describe('the commands of an operator on call', () => {
  it('show who merged two people, separate them for good, and rejoin them', async () => {
    const account = await createAccount('on call, people');
    const of = ['--account', String(account.accountId)];
    const send = (batch: Record<string, string>[]) =>
      post(`${readyStack().ingest_url}/v1/batch`, account.writeKey, { batch });
    const person = (id: string) => json<Person>('person', id, ...of);
    const alias = (message_id: string) =>
      send([{ type: 'alias', previous_id: 'device', user_id: 'sara', message_id }]);
    const waits = { ms: 30_000, every: 500 };
    await send([
      { type: 'track', event: 'visited', anonymous_id: 'device' },
      { type: 'track', event: 'visited', user_id: 'sara' },
    ]);
    const first = randomUUID();
    await alias(first);
    const merged = await eventually({ ...waits, waitingFor: 'the merge' }, async () => {
      const found = await person('device');
      const isMerged = found.ids.length === 2 && found.ids.some(({ event }) => event);
      // Profiles are saved every few seconds, each id for itself.
      return isMerged && (found.profile?.events ?? 0) >= 2 ? found : undefined;
    });
    expect(merged.canonical_id).toBe('sara');
    expect(merged.ids.find(({ distinct_id: id }) => id === 'device')).toMatchObject({
      ...{ merged_into: 'sara', event: { message_id: first, app: 'test', source: 'sdk' } },
    });

    const split = ['person', 'split', 'device', ...of];
    const moved = [{ distinct_id: 'device', from: 'sara', to: 'device' }];
    expect(await json('person', 'split', 'device', ...of, '--dry-run')).toMatchObject({
      ...{ dry_run: true, offset: null, one_person: false, moved },
    });
    expect((await person('device')).canonical_id).toBe('sara');
    expect(await json(...split, '--reason', 'a shared tablet')).toMatchObject({
      ...{ dry_run: false, applied: true, moved },
    });
    expect((await person('device')).canonical_id).toBe('device');

    // The SDK sends its alias again at the next sign-in.
    const again = randomUUID();
    await alias(again);
    await eventually({ ...waits, waitingFor: 'the second alias' }, async () => {
      const why = await ravand('why', again, ...of);
      return /^ +row +done/m.test(why) && /^ +profile +done/m.test(why) ? true : undefined;
    });
    const apart = await person('device');
    expect([apart.canonical_id, apart.decisions.map(({ kind }) => kind)]).toEqual([
      ...['device', ['keep_apart']],
    ]);

    expect(await json('person', 'rejoin', 'device', '--from', 'sara', ...of)).toMatchObject({
      applied: true,
    });
    expect((await person('device')).canonical_id).toBe('sara');
    expect(
      await admin('alias', 'undo', ...of, '--previous-id', 'device', '--dry-run'),
    ).toMatchObject({ dry_run: true, moved });
    const lines = (await changesOf(account.accountId)).filter(({ action }) =>
      action.startsWith('person.'),
    );
    expect(lines.map(({ action, details }) => [action, details['reason']])).toEqual([
      ['person.split', 'a shared tablet'],
      ['person.rejoined', undefined],
    ]);
    for (const { details } of lines) expect(JSON.stringify(details)).not.toMatch(/sara|device/);
  });

  it('show what changed, with the former value, and what a retention would delete', async () => {
    const account = await createAccount('on call, changes');
    const of = ['--account', String(account.accountId)];
    expect(await admin('account', 'set', ...of, 'retention_days=30', '--dry-run')).toMatchObject({
      ...{ dry_run: true, changes: { retention_days: { from: 400, to: 30 } } },
      events_to_delete: 0,
    });
    await admin('account', 'set', ...of, 'retention_days=30');
    const changes = await changesOf(account.accountId);
    expect(changes.map(({ action }) => action).sort()).toEqual([
      ...['account.changed', 'account.created', 'management_key.created', 'write_key.created'],
    ]);
    expect(changes.at(-1)).toMatchObject({
      ...{ actor: 'operator', action: 'account.changed', account_id: account.accountId },
      details: { retention_days: 30, before: { retention_days: 400 } },
    });
    await ravand('stop', 'catalogue-sink');
    await ravand('start', 'catalogue-sink');
    const all = (await json<{ changes: Change[] }>('changes', '--since', '1h')).changes;
    const services = all.filter(({ details }) => details['service'] === 'catalogue-sink');
    expect(services.slice(-2).map(({ action }) => action)).toEqual([
      ...['service.stopped', 'service.started'],
    ]);
    expect(all.some(({ action }) => action === 'stack.started')).toBe(true);
    expect(all.some(({ action }) => action === 'migration.ran')).toBe(true);
  });

  it('show which SDK sends events that are rejected, across accounts', async () => {
    const accounts = await Promise.all([createAccount('quality 1'), createAccount('quality 2')]);
    const version = `9.${Date.now()}`;
    for (const { writeKey } of accounts)
      await post(`${readyStack().ingest_url}/v1/batch`, writeKey, {
        batch: [
          { type: 'track', event: 'visited', context: { library: { name: 'web', version } } },
        ],
      });
    interface Group {
      sdk: string;
      kind: string;
      events: number;
      accounts: number;
      largest: { account_id: number }[];
    }
    const found = await eventually(
      { ms: 30_000, every: 500, waitingFor: 'the rejects of both accounts' },
      async () => {
        const { groups } = await json<{ groups: Group[] }>('quality');
        const own = groups.find(({ sdk }) => sdk.includes(version));
        return own?.accounts === 2 ? own : undefined;
      },
    );
    expect(found).toMatchObject({ kind: 'reject', events: 2 });
    expect(found.largest.map(({ account_id: id }) => id).sort()).toEqual(
      accounts.map(({ accountId }) => accountId).sort(),
    );
  });
});
