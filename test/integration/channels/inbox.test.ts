import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addInboxEntries } from '../../../platform/inbox/inbox-entries.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { homeOf } from '../../../cli/stack/home.ts';
import { homeKeys } from '../../../deploy/local/home-keys.ts';
import { readCommandsSince } from '../../support/channels/stored-channels.ts';
import { post } from '../../support/client.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { topicEnds } from '../../support/read-topic.ts';
import {
  admin,
  createAccount,
  eventually,
  readyStack,
  type TestAccount,
} from '../../support/stack.ts';
import { openPostgres } from '../../support/stack-clients.ts';

const ENTRIES = 60;
const USER = 'کاربر';

const database = openPostgres();
let gateway: GatewayProcess;
let account: TestAccount;
let secret: string;

interface Inbox {
  messages: { id: string; read: boolean }[];
  unread: number;
}

beforeAll(async () => {
  const home = homeOf({ checkout: '.', env: process.env });
  gateway = await GatewayProcess.create(homeKeys(home, process.env));
  await gateway.start();
  account = await createAccount('inbox of two tabs');
  const accountId = String(account.accountId);
  const apps = await database.query<{ id: string }>('SELECT id FROM apps WHERE account_id = $1', [
    accountId,
  ]);
  const app = ['--account', accountId, '--app-id', apps.rows[0]?.id ?? ''];
  ({ inbox_secret: secret } = await admin<{ inbox_secret: string }>('app', 'secret', ...app));
  await addInboxEntries(
    database,
    Array.from({ length: ENTRIES }, (_, at) => ({
      ...{ accountId: account.accountId, userId: USER, id: `m${at}`, title: 'عنوان', body: 'متن' },
      createdAt: 1_700_000_000_000 + at,
    })),
  );
});
afterAll(() => gateway.remove());

async function inbox(url: string, body: object): Promise<Inbox> {
  const user_hash = createHmac('sha256', secret).update(USER).digest('hex');
  const answer = await post(`${url}/v1/inbox`, account.writeKey, {
    ...{ user_id: USER, user_hash, limit: 100, ...body },
  });
  expect(answer.status).toBe(200);
  return answer.body as Inbox;
}

describe('an inbox that is read from two tabs, each at another gateway', () => {
  it('counts exactly in every answer and at the end, and every read is in the log', async () => {
    const from = await topicEnds(TOPIC.channelCommands);
    const read = async (url: string, first: number) => {
      let before = ENTRIES + 1;
      for (let at = first; at < ENTRIES; at += 2) {
        const ids = [`m${at}`, `m${(at * 7) % ENTRIES}`];
        const { messages, unread } = await inbox(url, { read: ids });
        const known = messages.filter((one) => ids.includes(one.id));
        expect(known.every((one) => one.read)).toBe(true);
        expect(unread).toBe(messages.filter((one) => !one.read).length);
        expect(unread).toBeLessThanOrEqual(before);
        before = unread;
      }
    };
    await Promise.all([read(readyStack().ingest_url, 0), read(gateway.url, 1)]);
    for (const url of [readyStack().ingest_url, gateway.url])
      expect(await inbox(url, {})).toMatchObject({ unread: 0 });
    const ids = new Set(
      (await readCommandsSince(from, account.accountId)).flatMap(
        ({ inbox: own }) => own?.ids ?? [],
      ),
    );
    expect(ids.size).toBe(ENTRIES);
  });

  it('stays read when the commands are applied, and a new entry is unread', async () => {
    const { accountId } = account;
    await addInboxEntries(database, [
      { accountId, userId: USER, id: 'new', title: 't', body: 'b', createdAt: Date.now() },
    ]);
    await eventually({ ms: 30_000, waitingFor: 'the commands to be applied' }, async () => {
      const { rows } = await database.query<{ lag: string }>(
        'SELECT count(*) AS lag FROM inbox_entries WHERE account_id = $1 AND read_at IS NULL',
        [accountId],
      );
      return Number(rows[0]?.lag) === 1 ? true : undefined;
    });
    expect((await inbox(gateway.url, {})).messages[0]).toMatchObject({ id: 'new', read: false });
    expect((await inbox(gateway.url, { read_all: true })).unread).toBe(0);
  });
});
