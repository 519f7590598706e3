import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { partitionOf } from '../../events/partition.ts';
import { sampleEvent, sampleRecord } from '../../events/testing/raw-records.ts';
import { COLUMNS } from '../../projections/events/insert-batch.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { post } from '../support/client.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { TestCampaign } from '../support/messages/campaign.ts';
import { mailingAccount, mailToSandbox } from '../support/messages/mailbox.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { connectTestProducer } from '../support/producer.ts';
import { stackKafka, topicEnds } from '../support/read-topic.ts';
import {
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  rows,
  sleep,
  type TestAccount,
} from '../support/stack.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const EMAIL = 'sara.amini@example.ir';
const PHONE = '+989121234567';
const [SARA, DEVICE, OMID] = ['user-سارا', 'device-of-sara', 'user-omid'];
/** Of the account, with that of a message. */
const EVENTS = 29;
const OF_ACCOUNT = 'WHERE account_id = {a:UInt64}';

interface Ended {
  code: number;
  stdout: string;
}

/** Runs `./ravand …`, whatever it exits with. */
function run(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { timeout: 280_000, maxBuffer: 2 ** 26 };
    execFile(join(CHECKOUT, 'ravand'), args, options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout: stdout + stderr }),
    );
  });
}

async function succeeds(...args: string[]): Promise<void> {
  const { code, stdout } = await run(...args);
  expect(`${code} ${stdout}`).toMatch(/^0 /);
}

interface Visit {
  id: string;
  /** When it was answered with 200, ms since the epoch. */
  at: number;
}

/** Visits of one person, one after the other, until it is stopped. */
function startVisits(url: string, { writeKey }: TestAccount, user: string) {
  const sent: Visit[] = [];
  const stopping = new AbortController();
  const running = (async () => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      const id = `visit-${user}-${n}`;
      const event = { event: 'visited', user_id: user, message_id: id };
      const answer = await post(`${url}/v1/track`, writeKey, event);
      expect(answer.status).toBe(200);
      sent.push({ id, at: Date.now() });
      await sleep(50);
    }
  })();
  return {
    stop: async (): Promise<readonly Visit[]> => {
      stopping.abort();
      await running;
      return sent;
    },
  };
}

describe('an erased person', () => {
  const ready = readyStack();
  const client = openClickhouse();
  const database = openPostgres();
  let account: TestAccount;
  let theirs: unknown;

  const send = async (batch: readonly object[]) => {
    const answer = await post(`${ready.ingest_url}/v1/batch`, account.writeKey, { batch });
    expect(answer.status).toBe(200);
  };
  const stateOf = async () => {
    const found = await database.query<{ state: string }>(
      'SELECT state FROM erasures WHERE account_id = $1',
      [account.accountId],
    );
    return found.rows[0]?.state;
  };
  const stored = async (where = '1') => {
    const [found] = await rows<{ n: number }>(
      client,
      `SELECT count() AS n FROM events ${OF_ACCOUNT} AND ${where}`,
      { a: account.accountId },
    );
    return found?.n ?? 0;
  };
  const folded = async () => {
    const [found] = await rows<{ n: number }>(
      client,
      `SELECT sum(event_count) AS n FROM profiles FINAL ${OF_ACCOUNT}`,
      { a: account.accountId },
    );
    return found?.n ?? 0;
  };
  /** Everything that is stored about the other person. */
  const other = async () => [
    await rows(
      client,
      `SELECT ${COLUMNS.join(', ')} FROM events ${OF_ACCOUNT} AND user_id = '${OMID}' ORDER BY _partition, _offset, _index`,
      { a: account.accountId },
    ),
    await rows(client, `SELECT * FROM profiles FINAL ${OF_ACCOUNT} AND name = '${OMID}'`, {
      a: account.accountId,
    }),
  ];
  /** Kills the command with kill -9 as soon as the condition holds. */
  async function killedWhen(args: readonly string[], holds: () => Promise<boolean>): Promise<void> {
    const child = spawn(process.execPath, [join(CHECKOUT, 'cli/main.ts'), ...args], {
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    await eventually({ ms: 120_000, every: 5, waitingFor: args.join(' ') }, async () =>
      child.exitCode !== null || (await holds()) ? true : undefined,
    );
    child.kill('SIGKILL');
    await ended;
  }

  beforeAll(async () => {
    const made = await mailingAccount(database, 'erasure');
    account = made.owner.account;
    const visit = { type: 'track', event: 'visited', anonymous_id: DEVICE };
    const order = { type: 'track', event: 'order_completed', user_id: SARA, anonymous_id: DEVICE };
    const omid = {
      type: 'track',
      event: 'visited',
      user_id: OMID,
      properties: { n: 1.5, city: 'یزد' },
    };
    await send([visit, omid, visit]);
    await send([
      { type: 'identify', user_id: SARA, traits: { email: EMAIL, phone: PHONE } },
      { type: 'alias', user_id: SARA, previous_id: DEVICE },
      { ...order, properties: { total: 10, mail: EMAIL } },
      { ...omid, properties: { n: 2 } },
      // Rejected, but in the bytes of the batch.
      { type: 'track', user_id: SARA, properties: { mail: EMAIL } },
    ]);
    const relays = await database.query<{ id: string }>(
      `INSERT INTO relays (account_id, name, url) VALUES ($1, 'silent', 'http://127.0.0.1:9/') RETURNING id`,
      [account.accountId],
    );
    await send(
      Array.from({ length: 20 }, () => order).concat([{ ...omid, user_id: OMID } as never]),
    );
    await publishDeadLetter();
    await eventually({ ms: 60_000, waitingFor: 'every event to be stored and folded' }, async () =>
      (await stored()) === EVENTS - 1 && (await folded()) === EVENTS - 1 ? true : undefined,
    );
    await eventually({ ms: 30_000, waitingFor: 'deliveries' }, async () => {
      const found = await database.query(
        'SELECT 1 FROM relay_deliveries WHERE relay_id = $1 AND payload IS NOT NULL',
        [relays.rows[0]?.id],
      );
      return (found.rowCount ?? 0) >= 21 ? true : undefined;
    });
    await mailToSandbox(database, made.owner);
    const campaign = await TestCampaign.create(made.owner, {
      ...{ channel: 'email', template_id: made.template },
      audience: { event: 'order_completed', did: true },
    });
    await campaign.send();
    await campaign.until('the message', ({ stats }) => stats.sent === 1);
    await eventually({ ms: 60_000, waitingFor: 'the event of the message' }, async () =>
      (await stored()) === EVENTS && (await folded()) === EVENTS ? true : undefined,
    );
    await exportEvents();
    theirs = await other();
  }, testTimeout(180_000));
  afterAll(() =>
    database.query('UPDATE relays SET enabled = false WHERE account_id = $1', [account.accountId]),
  );

  /** A raw record of the person that cannot be parsed. */
  async function publishDeadLetter(): Promise<void> {
    const { length: partitions } = [...(await topicEnds(TOPIC.raw))];
    const { accountId } = account;
    const partition = partitionOf({ accountId, distinctId: SARA, partitions });
    const record = sampleRecord([sampleEvent('broken', { user_id: SARA })], {
      account_id: accountId,
      received_at: Date.now(),
      gateway: `test-${accountId}`,
    });
    const body = Buffer.from(`{"user_id":"${SARA}","traits":{"email":"${EMAIL}"`);
    const value = rawRecordCodec.encode({ ...record, body });
    const producer = await connectTestProducer(stackKafka());
    await producer.publish({ topic: TOPIC.raw, partition, key: null, value });
    await producer.close(5000);
  }

  async function exportEvents(): Promise<void> {
    const answer = await fetch(`${ready.base_url}/v1/exports`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${account.managementKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ kind: 'events', format: 'ndjson' }),
    });
    expect(answer.status).toBe(202);
    await eventually({ ms: 60_000, waitingFor: 'the export' }, async () => {
      const found = await database.query(
        'SELECT 1 FROM exports WHERE account_id = $1 AND status = $2',
        [account.accountId, 'ready'],
      );
      return found.rowCount ? true : undefined;
    });
  }

  const person = () => ['erase', '--account', String(account.accountId), '--user-id', SARA];
  const id = async () => {
    const found = await database.query<{ id: string }>(
      'SELECT id FROM erasures WHERE account_id = $1',
      [account.accountId],
    );
    return found.rows[0]?.id ?? '';
  };
  const verify = async () =>
    run('erase', 'verify', await id(), '--text', EMAIL, '--text', PHONE, '--json');

  it('has all names that are merged with it; a dry run changes nothing', async () => {
    const { stdout } = await run(...person(), '--dry-run', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ dry_run: true, names: [SARA, DEVICE], beside: [] });
    expect([await stored(), await stateOf()]).toEqual([EVENTS, undefined]);
  });

  it(
    'is gone from every store but the log, whenever the command is killed',
    async () => {
      for (const state of ['requested', 'recorded', 'enforced'])
        await killedWhen(person(), async () => (await stateOf()) === state);
      await succeeds(...person());
      expect(await stateOf()).toBe('removed');
      expect(await stored(`user_id != '${OMID}'`)).toBe(0);
      expect(await other()).toEqual(theirs);
      const { code, stdout } = await verify();
      const { findings } = JSON.parse(stdout) as { findings: { store: string; place: string }[] };
      expect(code).toBe(1);
      expect([...new Set(findings.map(({ store }) => store))]).toEqual(['log']);
      expect(findings.map(({ place }) => place)).toEqual(
        expect.arrayContaining([
          ...[TOPIC.raw, TOPIC.normalised, TOPIC.dead],
          ...[TOPIC.messagesPlanned, TOPIC.messagesOutcomes],
        ]),
      );
    },
    testTimeout(300_000),
  );

  it('begins again as a new person with the next event', async () => {
    await send([{ type: 'track', event: 'visited', user_id: SARA }]);
    await eventually({ ms: 30_000, waitingFor: 'the new profile' }, async () => {
      const found = await rows<{ event_count: number; email: string }>(
        client,
        `SELECT event_count, email FROM profiles FINAL ${OF_ACCOUNT} AND name = '${SARA}'`,
        { a: account.accountId },
      );
      return found[0]?.event_count === 1 && found[0].email === '' ? true : undefined;
    });
  });

  it(
    'is gone from the log once it is rewritten, also by a command that was killed',
    async () => {
      const rewriting = async (state: string) =>
        ((await database.query('SELECT 1 FROM erasure_rewrites WHERE state = $1', [state]))
          .rowCount ?? 0) > 0;
      for (const state of FULL ? ['waiting', 'switched'] : ['switched'])
        await killedWhen(['erase', 'rewrite'], () => rewriting(state));
      await succeeds('erase', 'rewrite');
      const verified = await verify();
      expect(`${verified.code} ${verified.stdout}`).toMatch(/^0 /);
      expect(await stateOf()).toBe('rewritten');
    },
    testTimeout(400_000),
  );

  it(
    'does not come back by a replay or a rebuild, and the others are as they were',
    async () => {
      const own = ['--account', String(account.accountId)];
      for (const topic of FULL ? [TOPIC.raw, TOPIC.normalised] : [TOPIC.raw])
        await succeeds('replay', '--topic', topic, ...own);
      const projections = FULL ? ['events', 'profiles', 'identities'] : ['profiles'];
      for (const projection of projections) await succeeds('rebuild', projection, '--compare');
      expect(await other()).toEqual(theirs);
      expect(await stored(`user_id != '${OMID}'`)).toBe(1);
      const again = await run('erase', 'verify', await id(), '--user-id', SARA, '--text', EMAIL);
      expect(`${again.code} ${again.stdout}`).toMatch(/^0 /);
    },
    testTimeout(300_000),
  );

  it.runIf(FULL)(
    'is erased again and again under its own load and that of others, whenever the commands are killed',
    async () => {
      const busy = await createAccount('erasure under load');
      const [visitor, ledger] = ['a-busy-visitor', new Ledger()];
      const others = startLoad({ ready, account: busy, ledger, people: 12, pause: 10 });
      const mine = startVisits(ready.ingest_url, busy, visitor);
      const of = ['erase', '--account', String(busy.accountId), '--user-id', visitor];
      let removedAt = 0;
      let kills = 0;
      for (let round = 0; round < 2; round++) {
        await eventually({ ms: 60_000, waitingFor: 'new visits' }, async () =>
          (await visits(busy, visitor)).stored > 0 ? true : undefined,
        );
        kills += await killedAtRandom(of, { kills: 5, ms: 5000 });
        removedAt = Date.now();
        kills += await killedAtRandom(['erase', 'rewrite'], { kills: 5, ms: 12_000 });
      }
      expect(kills).toBeGreaterThan(8);
      const sent = await mine.stop();
      expect((await others.stop()).refusals).toEqual([]);
      const found = await untilStored(client, busy.accountId, ledger, 120_000);
      expect({ lost: found.lost, doubled: found.doubled }).toEqual({ lost: [], doubled: [] });

      const after = sent.filter(({ at }) => at > removedAt).map(({ id: message }) => message);
      expect(after.length).toBeGreaterThan(10);
      await eventually({ ms: 60_000, waitingFor: 'the new person' }, async () => {
        const stored = new Set((await visits(busy, visitor)).messages);
        return after.every((message) => stored.has(message)) ? true : undefined;
      });
      const { stored: rowsLeft, messages } = await visits(busy, visitor);
      expect(new Set(messages).size).toBe(rowsLeft);
      const profile = await rows<{ n: number }>(
        client,
        `SELECT event_count AS n FROM profiles FINAL ${OF_ACCOUNT} AND name = '${visitor}'`,
        { a: busy.accountId },
      );
      expect(profile).toEqual([{ n: rowsLeft }]);
      const erased = await database.query<{ id: string; state: string }>(
        'SELECT id, state FROM erasures WHERE account_id = $1',
        [busy.accountId],
      );
      expect(erased.rows.length).toBeGreaterThan(1);
      for (const { id: one, state } of erased.rows) {
        expect(state).toBe('rewritten');
        const { code, stdout } = await run('erase', 'verify', one, '--json');
        expect(`${code} ${stdout}`).toMatch(/^0 /);
      }
      await balanced(busy);
    },
    testTimeout(1_500_000),
  );

  /** Stored visits of a person, after the cut of its last erasure or before it. */
  async function visits({ accountId }: TestAccount, user: string) {
    const found = await rows<{ message_id: string }>(
      client,
      `SELECT message_id FROM events ${OF_ACCOUNT} AND user_id = {u:String}`,
      { a: accountId, u: user },
    );
    return { stored: found.length, messages: found.map(({ message_id: one }) => one) };
  }

  /** Kills the command with kill -9 at random moments, then lets it end; the number of kills. */
  async function killedAtRandom(
    args: readonly string[],
    { kills, ms }: { kills: number; ms: number },
  ): Promise<number> {
    for (let at = 0; at < kills; at++) {
      const child = spawn(process.execPath, [join(CHECKOUT, 'cli/main.ts'), ...args], {
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      const timer = setTimeout(() => child.kill('SIGKILL'), 500 + Math.random() * ms);
      await ended;
      clearTimeout(timer);
      if (child.signalCode === null) return at;
    }
    const { code, stdout } = await run(...args);
    expect(`${code} ${stdout}`).toMatch(/^0 /);
    return kills;
  }

  it('leaves the books balanced', () => balanced(account));

  const balanced = ({ accountId }: TestAccount) =>
    eventually({ ms: 60_000, waitingFor: 'the books' }, async () => {
      const answer = await ravand('status', '--json', '--account', String(accountId));
      const { books } = JSON.parse(answer) as { books: Record<string, number> };
      return books['published'] === (books['stored'] ?? 0) + (books['dead'] ?? 0)
        ? true
        : undefined;
    });
});
