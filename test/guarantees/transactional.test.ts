import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outcomesOf } from '../support/messages/stored-outcomes.ts';
import { BotReceiver, type BotFate } from '../support/messages/bot-receiver.ts';
import { MessageAccount } from '../support/messages/message-account.ts';
import { MessageHost, type MessageReply } from '../support/messages/message-host.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { eventually, FULL, killService, serviceStatus, sleep } from '../support/stack.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';

const KEYS = FULL ? 10_000 : 600;
const CLIENTS = 3;
/** Keys that are being asked for at a time. */
const AT_A_TIME = FULL ? 60 : 30;
const STALE_MS = 5000;
const SERVERS = ['kafka', 'postgres', 'redis'] as const;
/** Between two kills. */
const PAUSE = { min: 500, more: 1500 };

const database = openPostgres();
const client = openClickhouse();
let receiver: BotReceiver;
let hosts: MessageHost[];
let owner: MessageAccount;
let template: number;

beforeAll(async () => {
  receiver = await BotReceiver.listen();
  receiver.latency = 5;
  const env = { API_STALE_RESERVATION: `${STALE_MS}ms` };
  hosts = [await MessageHost.start(receiver, env), await MessageHost.start(receiver, env)];
  owner = await MessageAccount.create(database, 'transactional under kills');
  await owner.sender('bale', 'bale', { config: { url: receiver.url }, secret: 'bot-token' });
  await owner.chats('bale', ['sara']);
  template = await owner.template('bale', { text: '{{ vars.key }}' });
}, testTimeout(180_000));
afterAll(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  receiver.close();
});

/** What one client got for its key in the end. */
interface Answered {
  key: string;
  status: string;
  reason: string;
}

const counts = { conflicts: 0, unavailable: 0, broken: 0 };

/** Asks again as the specification says (management 7.7), until there is a result. */
async function sendOnce(key: string): Promise<Answered> {
  const body = { user_id: 'sara', template_id: template, channel: 'bale', vars: { key } };
  for (;;) {
    const host = hosts[Math.floor(Math.random() * hosts.length)];
    const reply = await host
      ?.post(owner.account.managementKey, { ...body, idempotency_key: key })
      .catch(() => undefined);
    if (reply?.status === 200) return answeredOf(key, reply);
    if (reply?.status === 409) counts.conflicts++;
    else if (reply?.status === 503) counts.unavailable++;
    else if (reply) throw new Error(`${reply.status} ${JSON.stringify(reply.body)}`);
    else counts.broken++;
    await sleep(reply?.status === 409 ? 1000 : 100 + Math.random() * 400);
  }
}

function answeredOf(key: string, { body }: MessageReply): Answered {
  const { status, reason = '' } = body as { status: string; reason?: string };
  return { key, status, reason };
}

/** Most messages are accepted; some calls are refused for now, and some answers are lost. */
function fateOf(): BotFate {
  const chance = Math.random();
  if (chance < 0.9) return 'accept';
  if (chance < 0.96) return 'busy';
  return chance < 0.98 ? 'accept_and_hang_up' : 'hang_up';
}

describe('a transactional message is sent once for its key (ARCHITECTURE.md, M4)', () => {
  it(
    `${KEYS} keys, each from ${CLIENTS} clients at once, while every server and both hosts are killed`,
    async () => {
      receiver.fateOf = fateOf;
      const keys = Array.from({ length: KEYS }, (_, at) => `k${Date.now()}x${at}`);
      const state = { isOver: false, killed: { host: 0, kafka: 0, postgres: 0, redis: 0 } };
      const killing = killAll(state);
      const answers: Answered[] = [];
      const left = [...keys];
      const work = async () => {
        for (let key = left.pop(); key !== undefined; key = left.pop()) {
          const one = key;
          const own = await Promise.all(Array.from({ length: CLIENTS }, () => sendOnce(one)));
          answers.push(...own);
        }
      };
      await Promise.all(Array.from({ length: AT_A_TIME }, work)).finally(() => {
        state.isOver = true;
      });
      await killing;

      const lost = receiver.calls.filter(({ fate }) => fate.endsWith('hang_up')).length;
      const sent = receiver.sentTexts();
      const byKey = Map.groupBy(answers, ({ key }) => key);
      const unknown = keys.filter((key) =>
        byKey.get(key)?.some(({ reason }) => reason === 'outcome_unknown'),
      );
      console.log(
        JSON.stringify({
          ...{ keys: KEYS, clients: CLIENTS, killed: state.killed, ...counts },
          ...{ calls: receiver.calls.length, lost, sent: sent.size, unknown: unknown.length },
        }),
      );

      // Nobody got a message twice, and nothing was called again that may have been taken.
      expect([...sent].filter(([, times]) => times > 1)).toEqual([]);
      const calls = Map.groupBy(receiver.calls, ({ text }) => text);
      const repeated = [...calls.values()].flatMap((own) =>
        own.slice(0, -1).filter(({ fate }) => fate !== 'busy'),
      );
      expect(repeated).toEqual([]);
      // All clients of a key got one result, which says what happened.
      expect([...byKey.values()].filter((own) => new Set(own.map(resultOf)).size !== 1)).toEqual(
        [],
      );
      for (const [key, [answer]] of byKey)
        if (answer?.status === 'sent') expect([key, sent.get(key)]).toEqual([key, 1]);
        else
          expect([key, answer?.status, answer?.reason]).toEqual([key, 'failed', 'outcome_unknown']);
      // An outcome is unknown because its answer was lost, or the host was killed meanwhile.
      expect(unknown.length).toBeLessThanOrEqual(lost + state.killed.host * AT_A_TIME);
      expect(Math.min(...Object.values(state.killed))).toBeGreaterThan(0);

      // Each has one outcome in the books, and what was sent is metered.
      const statuses = new Map([...byKey].map(([key, own]) => [key, own[0]?.status ?? '']));
      const prefix = `t${owner.account.accountId}.`;
      const expected = [...statuses].map(([key, status]) => `${prefix}${key} ${status}`).sort();
      const stored = await eventually(
        { ms: 60_000, every: 1000, waitingFor: 'all outcomes' },
        async () => {
          const found = await outcomesOf({ database, client }, owner.account.accountId);
          return found.length >= expected.length ? found : undefined;
        },
      );
      expect(stored.sort()).toEqual(expected);
      const { rows } = await database.query<{ messages: number }>(
        'SELECT sum(messages)::int AS messages FROM message_meters WHERE account_id = $1',
        [owner.account.accountId],
      );
      const sentKeys = [...statuses.values()].filter((status) => status === 'sent').length;
      expect(rows[0]?.messages).toBe(sentKeys);
    },
    testTimeout(FULL ? 3_600_000 : 600_000),
  );
});

const resultOf = ({ status, reason }: Answered) => `${status} ${reason}`;

interface Killing {
  isOver: boolean;
  killed: Record<'host' | (typeof SERVERS)[number], number>;
}

/** Kills one thing after the other, again and again, until it is over and each was killed. */
async function killAll(state: Killing): Promise<void> {
  for (let turn = 0; !state.isOver || turn <= SERVERS.length * 2; turn++) {
    await sleep(PAUSE.min + Math.random() * PAUSE.more);
    const server = SERVERS[Math.floor(turn / 2) % SERVERS.length] ?? 'redis';
    if (turn % 2 === 0) {
      await hosts[Math.floor(turn / 2) % hosts.length]?.killAndStart();
      state.killed.host++;
    } else if (await killService(server)) {
      state.killed[server]++;
      await eventually({ ms: 60_000, waitingFor: `${server} to be up again` }, async () =>
        (await serviceStatus(server)).up ? true : undefined,
      );
    }
  }
}
