import { afterEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../events/channels/channel-change.ts';
import { resolveRecipients } from '../../messaging/recipients/resolve-recipients.ts';
import { channelsOnce, trackedMessage } from '../support/channels.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { createAccount, eventually, ravand, readyStack } from '../support/stack.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';

const database = openPostgres();
const client = openClickhouse();
const stopped = new Set<string>();

const stop = async (server: string) => {
  stopped.add(server);
  await ravand('stop', server);
};
const startAll = async () => {
  for (const server of stopped) await ravand('start', server);
  stopped.clear();
};
afterEach(startAll);

/** What those who send know of a user's consent now. */
async function consentOf(accountId: number, userId: string, channel: Channel = 'email') {
  const people = [{ personId: userId, userId }];
  const signal = AbortSignal.timeout(10_000);
  const deps = { database, clickhouse: client };
  const found = await resolveRecipients(deps, { accountId, channel, people }, { signal });
  return found.get(userId)?.consent;
}

async function announced(accountId: number): Promise<number> {
  const { rows } = await database.query<{ rows: number }>(
    'SELECT count(*)::int AS rows FROM announced_opt_outs WHERE account_id = $1',
    [accountId],
  );
  return rows[0]?.rows ?? 0;
}

/** POST /e/u/{token}; answers its status. */
async function unsubscribe(path: string): Promise<number> {
  const answer = await fetch(new URL(path, readyStack().ingest_url), {
    ...{ method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) },
    signal: AbortSignal.timeout(30_000),
  });
  await answer.body?.cancel();
  return answer.status;
}

describe('an opt-out that was answered 200 is known to those who send (ARCHITECTURE.md, M6)', () => {
  it(
    'while Kafka is unavailable, and its announcement goes once the projection has it',
    async () => {
      const { accountId } = await createAccount('opt-outs without Kafka');
      const message = await trackedMessage(database, { accountId, userId: 'sara' });
      expect(await consentOf(accountId, 'sara')).toBeUndefined();
      await stop('kafka');
      // The gateway spools as soon as it has noticed.
      expect(await unsubscribe(message.unsubscribe)).toBe(200);
      expect(await consentOf(accountId, 'sara')).toBe('unsubscribed');
      expect(await announced(accountId)).toBe(1);
      await startAll();
      await channelsOnce(
        database,
        { accountId, userId: 'sara' },
        ({ consents }) => consents['email'] === 'unsubscribed',
      );
      await eventually({ ms: 60_000, waitingFor: 'the announcement to be removed' }, async () =>
        (await announced(accountId)) === 0 ? true : undefined,
      );
      expect(await consentOf(accountId, 'sara')).toBe('unsubscribed');
    },
    testTimeout(180_000),
  );

  it(
    'in the projection while Kafka is available, without an announcement',
    async () => {
      const { accountId } = await createAccount('opt-outs');
      const message = await trackedMessage(database, { accountId, userId: 'sara' });
      expect(await unsubscribe(message.unsubscribe)).toBe(200);
      expect(await announced(accountId)).toBe(0);
      await eventually({ ms: 30_000, waitingFor: 'the consent' }, async () =>
        (await consentOf(accountId, 'sara')) === 'unsubscribed' ? true : undefined,
      );
    },
    testTimeout(60_000),
  );

  it(
    'or is answered 503 while PostgreSQL is unavailable, too, and counts in the end',
    async () => {
      const { accountId } = await createAccount('opt-outs without Kafka and PostgreSQL');
      const message = await trackedMessage(database, { accountId, userId: 'sara' });
      await stop('kafka');
      await stop('postgres');
      expect(await unsubscribe(message.unsubscribe)).toBe(503);
      await startAll();
      await eventually({ ms: 60_000, waitingFor: 'the opt-out to be accepted' }, async () =>
        (await unsubscribe(message.unsubscribe)) === 200 ? true : undefined,
      );
      await eventually({ ms: 60_000, waitingFor: 'the consent' }, async () =>
        (await consentOf(accountId, 'sara')) === 'unsubscribed' ? true : undefined,
      );
    },
    testTimeout(180_000),
  );
});
