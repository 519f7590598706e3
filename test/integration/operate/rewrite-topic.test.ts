import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { readLayout, type LayoutPhase } from '../../../platform/log/layout.ts';
import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { readRange } from '../../../platform/kafka/read-range.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import { rawRecordCodec } from '../../../schemas/codec.ts';
import { rawValuesIn } from '../../../schemas/raw-batch.ts';
import { TOPIC, type Topic } from '../../../schemas/topology.ts';
import { PERSONAL_TOPICS } from '../../../platform/log/erasures.ts';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import { post } from '../../support/client.ts';
import { expectBalanced } from '../../support/expect-balanced.ts';
import { Ledger, untilStored } from '../../support/ledger.ts';
import { startLoad } from '../../support/load.ts';
import { TestCampaign } from '../../support/messages/campaign.ts';
import { mailingAccount, mailsOf, mailToSandbox } from '../../support/messages/mailbox.ts';
import { identifyPeople } from '../../support/messages/people.ts';
import { storedMessageEvents, storedMessages } from '../../support/messages/stored-messages.ts';
import { stackKafka } from '../../support/read-topic.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  serviceStatus,
  sleep,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { withRefusedEvent } from './faults.ts';

const SCRIPT = join(import.meta.dirname, '../../support/rewrite-process.ts');
const SECRET = 'the-name-that-must-go';
/** Short: the topic that is written and read while writers hold. */
const TOPICS = FULL ? [...PERSONAL_TOPICS] : [TOPIC.normalised];
/** Of a campaign; the sandbox keeps the last 1,000 messages. */
const RECIPIENTS = 20;
const MAX_RUNS = 45;
const SERVICES = [
  ...['normaliser', 'ingest-gateway', 'profiles-sink', 'events-sink', 'relays'],
  'addresses-sink',
];

interface CopiedRecord {
  partition: number;
  offset: number;
  timestamp: number;
  key: Buffer | null;
  value: Buffer;
}

/** Buffers are compared byte by byte in JavaScript, texts are not. */
function textOf({ key, value, ...rest }: CopiedRecord): string {
  const bytes = [key, value].map((one) => one?.toString('base64') ?? 'null');
  return [...Object.values(rest), ...bytes].join();
}

describe('a topic that is rewritten under load', () => {
  const ready = readyStack();
  const client = openClickhouse();
  const database = openPostgres();

  const layout = async () => {
    const found = await readLayout(database);
    if (!found) throw new Error('no layout is recorded');
    return found;
  };
  const run = async (env: NodeJS.ProcessEnv = {}, topic: Topic = TOPIC.raw) =>
    promisify(execFile)(process.execPath, [SCRIPT, topic, SECRET], {
      env: { ...process.env, ...env },
      timeout: 150_000,
    });
  beforeEach(async () => {
    // When this file runs once more, the run before may have ended before it removed a topic.
    for (const topic of Object.keys((await layout()).formerTopics))
      await run({ REMOVE: '1' }, topic as Topic);
  });

  async function runUntil(phase: LayoutPhase): Promise<void> {
    const child = spawn(process.execPath, [SCRIPT, TOPIC.raw, SECRET], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await eventually({ ms: 60_000, every: 2, waitingFor: phase }, async () =>
      child.exitCode !== null || (await layout()).phase === phase ? true : undefined,
    );
    child.kill('SIGKILL');
    await ended;
  }
  /** Every record of a physical topic, by partition. */
  async function recordsOf(name: string) {
    const settings = stackKafka();
    const ends = await withKafkaAdmin(settings, (admin) => admin.fetchTopicOffsets(name));
    const { signal } = new AbortController();
    const found: CopiedRecord[] = [];
    for (const { partition, low, high } of ends) {
      const range = { topic: exactTopic(name), partition, from: Number(low), to: Number(high) };
      for await (const batch of readRange({ settings, clientId: 'test', range, signal }))
        for (const { offset, timestamp, key, value } of batch)
          found.push({ partition, offset, timestamp, key, value: value ?? Buffer.alloc(0) });
    }
    return found;
  }

  it.runIf(FULL)(
    'has the same offsets and times, and every group goes on, also after kill -9 at each step',
    async () => {
      const account = await createAccount('rewrite');
      const body = { event: 'seen', user_id: SECRET, properties: { name: SECRET } };
      for (let at = 0; at < 5; at++)
        await post(`${ready.ingest_url}/v1/track`, account.writeKey, body);
      const ledger = new Ledger();
      const load = startLoad({ ready, account, ledger, people: 8, pause: 10 });
      await sleep(2000);
      const before = await layout();
      const from = before.topics[TOPIC.raw] ?? TOPIC.raw;
      const phases = ['preparing', 'holding', 'switching'] as const;
      for (const phase of FULL ? phases : phases.slice(2)) await runUntil(phase);
      // Nobody continues: writers and services go on by themselves.
      if (FULL) {
        const killed = await layout();
        await eventually({ ms: 60_000, waitingFor: 'the release' }, async () =>
          (await layout()).phase === 'preparing' || killed.phase === 'steady' ? true : undefined,
        );
        await eventually({ ms: 60_000, waitingFor: 'services to go on' }, async () =>
          (await serviceStatus('normaliser')).up ? true : undefined,
        );
      }
      if ((await layout()).generation === before.generation) await run();
      const after = await layout();
      expect(after).toMatchObject({ phase: 'steady', generation: before.generation + 1 });
      const to = after.topics[TOPIC.raw] ?? '';
      expect(to).not.toBe(from);
      await sleep(3000);
      const report = await load.stop();
      expect(report.refusals).toEqual([]);
      const found = await untilStored(client, account.accountId, ledger, 120_000);
      expect({ lost: found.lost, doubled: found.doubled }).toEqual({ lost: [], doubled: [] });

      const [former, rewritten] = [await recordsOf(from), await recordsOf(to)];
      const byPlace = new Map(rewritten.map((one) => [`${one.partition}/${one.offset}`, one]));
      expect(former.length).toBeGreaterThan(5);
      for (const { partition, offset, timestamp, value } of former) {
        const copy = byPlace.get(`${partition}/${offset}`);
        expect([copy?.timestamp, copy?.value.includes(SECRET)]).toEqual([timestamp, false]);
        const [was, is] = [value, copy?.value ?? Buffer.alloc(0)].map((one) =>
          rawValuesIn(one).map((record) => rawRecordCodec.decode(record).items),
        );
        expect(is).toEqual(was);
      }
      expect(former.some(({ value }) => value.includes(SECRET))).toBe(true);

      const removed = await run({ REMOVE: '1' });
      expect(JSON.parse(removed.stdout.trim().split('\n').at(-1) ?? '')).toEqual({ late: 0 });
      const topics = await withKafkaAdmin(stackKafka(), (admin) => admin.listTopics());
      expect([topics.includes(from), topics.includes(to)]).toEqual([false, true]);
      const more = new Ledger();
      const last = startLoad({ ready, account, ledger: more, people: 2, pause: 10 });
      await sleep(1000);
      await last.stop();
      const late = await untilStored(client, account.accountId, more, 60_000);
      expect([late.lost, late.doubled]).toEqual([[], []]);
      // The command reads the topic by its new name as well.
      expect((await serviceStatus('normaliser')).lag).toBe(0);
    },
    400_000,
  );

  const endsOf = (name: string) =>
    withKafkaAdmin(stackKafka(), (admin) => admin.fetchTopicOffsets(name));
  const headsOf = async (name: string) =>
    new Map((await endsOf(name)).map(({ partition, low }) => [partition, Number(low)]));
  /** Removes the older half of each partition, and all of the first one, as retention does. */
  const removeHead = (name: string) =>
    withKafkaAdmin(stackKafka(), async (admin) => {
      // It must be the same client: it deletes from topics that it knows already.
      const partitions = (await admin.fetchTopicOffsets(name)).map(({ partition, low, high }) => ({
        partition,
        offset: partition === 0 ? high : String(Math.ceil((Number(low) + Number(high)) / 2)),
      }));
      await admin.deleteTopicRecords({ topic: name, partitions });
    });
  const highsOf = async (name: string) =>
    new Map((await endsOf(name)).map(({ partition, high }) => [String(partition), Number(high)]));
  /** One service after the other, with kill -9; the number of kills. */
  async function killServices(signal: AbortSignal): Promise<number> {
    let kills = 0;
    for (let at = 0; FULL && !signal.aborted; at++) {
      if (await killService(SERVICES[at % SERVICES.length] ?? '')) kills++;
      await sleep(500 + Math.random() * 1500);
    }
    return kills;
  }
  const countOf = async (name: string) =>
    (await endsOf(name)).reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);

  it('has the same records, keys and first offsets, whichever topic it is, when its head is gone and while services are killed', async () => {
    const [account, refused] = [await createAccount('rewrite'), await createAccount('refused')];
    const physical = async (topic: Topic) => (await layout()).topics[topic] ?? topic;
    const leaveDeadLetters = () =>
      withRefusedEvent('refused_row', async () => {
        const dead = await physical(TOPIC.dead);
        const before = await countOf(dead);
        const body = { event: 'refused_row', user_id: 'someone' };
        for (let at = 0; at < 3; at++)
          await post(`${ready.ingest_url}/v1/track`, refused.writeKey, body);
        await eventually({ ms: 60_000, waitingFor: 'dead letters' }, async () =>
          (await countOf(dead)) > before ? true : undefined,
        );
      });
    /** Commands about people that are not merged change nothing but the topic. */
    const leaveCommands = async () => {
      for (const name of ['one', 'other', 'third'])
        await ravand(
          ...['person', 'split', name, '--from', 'nobody', '--reason', 'test'],
          ...['--account', String(account.accountId)],
        );
    };
    const leaveRegistrations = async () => {
      for (let at = 0; at < 20; at++)
        await post(`${ready.ingest_url}/v1/devices`, account.writeKey, {
          ...{ device_id: `d${at}`, user_id: `u${at}`, platform: 'ios', push_token: `t${at}` },
        });
    };
    if (FULL) {
      await leaveDeadLetters();
      await leaveCommands();
      await leaveRegistrations();
    }
    const ledger = new Ledger();
    const options = { ready, account, ledger, people: 12, pause: 10 };
    const first = startLoad(options);
    await sleep(2000);
    await first.stop();
    await untilStored(client, account.accountId, ledger);
    await expectBalanced(account, ledger);
    for (const topic of TOPICS) await removeHead(await physical(topic));
    if (FULL) {
      await leaveDeadLetters();
      await leaveCommands();
      await leaveRegistrations();
    }

    const load = startLoad(options);
    for (const topic of TOPICS) {
      const from = await physical(topic);
      const heads = await headsOf(from);
      expect([...heads.values()].some((low) => low > 0)).toBe(true);
      const ended = new AbortController();
      const killing = killServices(ended.signal);
      await run({}, topic).finally(() => ended.abort());
      const to = await physical(topic);
      expect(to).not.toBe(from);
      const kills = await killing;
      if (FULL) expect(kills).toBeGreaterThan(0);
      expect(await headsOf(to)).toEqual(heads);
      // Nothing was appended to the former topic after the switch.
      const { ends = {} } = (await layout()).formerTopics[topic] ?? {};
      await sleep(2000);
      expect(await highsOf(from)).toEqual(new Map(Object.entries(ends)));
      const former = await recordsOf(from);
      expect(former.length).toBeGreaterThan(0);
      const copied = (await recordsOf(to)).filter(
        ({ partition, offset }) => offset < Number(ends[partition]),
      );
      expect(copied.map(textOf).toSorted()).toEqual(former.map(textOf).toSorted());
      const removed = await run({ REMOVE: '1' }, topic);
      expect(JSON.parse(removed.stdout.trim().split('\n').at(-1) ?? '')).toEqual({ late: 0 });
    }
    const more = await load.stop();
    if (!FULL) expect(more.refusals).toEqual([]);
    const found = await untilStored(client, account.accountId, ledger, 120_000);
    expect(found).toEqual({ lost: [], doubled: [], unknown: [] });
    await expectBalanced(account, ledger);
  }, 900_000);

  it('lets a campaign go on when it holds its messages: nobody gets one twice, and nobody none', async () => {
    const { owner, template } = await mailingAccount(database, 'campaign beside a rewrite');
    const { accountId } = owner.account;
    await mailToSandbox(database, owner);
    const users = await identifyPeople(client, owner.account, RECIPIENTS);
    const campaign = await TestCampaign.create(owner, {
      ...{ channel: 'email', template_id: template },
      audience: { trait: 'plan', op: 'eq', value: 'gold' },
    });
    const runs: number[] = [await campaign.send()];
    const ended = new AbortController();
    // A service that starts again does not answer, and an account may have some runs at a time.
    const sending = (async () => {
      while (!ended.signal.aborted && runs.length < MAX_RUNS) {
        await sleep(500);
        await campaign.send().then(
          (run) => runs.push(run),
          () => undefined,
        );
      }
    })();
    try {
      for (const topic of [TOPIC.messagesPlanned, TOPIC.messagesOutcomes]) {
        await run({}, topic);
        await run({ REMOVE: '1' }, topic);
      }
    } finally {
      ended.abort();
      await sending;
    }
    const planned = runs.length * RECIPIENTS;
    const { stats } = await campaign.until(
      'all outcomes',
      ({ stats: now }) => now.planned === planned && now.in_flight === 0,
    );
    const mails = (await mailsOf(campaign.id)).map(({ messageId }) => messageId);
    const expected = runs.flatMap((runId) =>
      users.map((user) =>
        campaignMessageId({ campaignId: campaign.id, runId, key: personKey(user) }),
      ),
    );
    expect(stats).toMatchObject({ planned, sent: planned, failed: 0, skipped: 0 });
    expect(mails.toSorted()).toEqual(expected.toSorted());
    const events = await eventually({ ms: 60_000, waitingFor: 'outcomes and events' }, async () => {
      const found = await storedMessageEvents(client, accountId);
      const outcomes = await storedMessages(client, accountId);
      return found.length >= planned && outcomes.size >= planned ? found : undefined;
    });
    expect(events).toEqual(expected.map((id) => `${id} message_sent 1`).toSorted());
  }, 400_000);
});
