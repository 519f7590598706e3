import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readLayout, type LayoutPhase } from '../../../platform/log/layout.ts';
import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { readRange } from '../../../platform/kafka/read-range.ts';
import { exactTopic } from '../../../platform/kafka/topic-names.ts';
import { rawRecordCodec } from '../../../schemas/codec.ts';
import { TOPIC, type Topic } from '../../../schemas/topology.ts';
import { post } from '../../support/client.ts';
import { Ledger, untilStored } from '../../support/ledger.ts';
import { startLoad } from '../../support/load.ts';
import { stackKafka } from '../../support/read-topic.ts';
import {
  createAccount,
  eventually,
  readyStack,
  serviceStatus,
  sleep,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';

const SCRIPT = join(import.meta.dirname, '../../support/rewrite-process.ts');
const SECRET = 'the-name-that-must-go';

interface CopiedRecord {
  partition: number;
  offset: number;
  timestamp: number;
  key: Buffer | null;
  value: Buffer;
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

  it('has the same offsets and times, and every group goes on, also after kill -9 at each step', async () => {
    const account = await createAccount('rewrite');
    const body = { event: 'seen', user_id: SECRET, properties: { name: SECRET } };
    for (let at = 0; at < 5; at++)
      await post(`${ready.ingest_url}/v1/track`, account.writeKey, body);
    const ledger = new Ledger();
    const load = startLoad({ ready, account, ledger, people: 8, pause: 10 });
    await sleep(2000);
    const before = await layout();
    const from = before.topics[TOPIC.raw] ?? TOPIC.raw;
    for (const phase of ['preparing', 'holding', 'switching'] as const) await runUntil(phase);
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
        rawRecordCodec.decode(one),
      );
      expect(is?.items).toEqual(was?.items);
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
  }, 400_000);
});
