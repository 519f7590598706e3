import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRange } from '../../platform/kafka/read-range.ts';
import { rawRecordCodec } from '../../schemas/codec.ts';
import { rawValuesIn } from '../../schemas/raw-batch.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { startAttack } from '../support/hostile-attack.ts';
import { Ledger, untilStored } from '../support/ledger.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { stackKafka, topicEnds } from '../support/read-topic.ts';
import { openClickhouse } from '../support/stack-clients.ts';
import { createAccount, eventually, FULL, type TestAccount } from '../support/stack.ts';
import { wellBehavedClients, type Served } from '../support/well-behaved-clients.ts';

const UNDISTURBED_MS = FULL ? 60_000 : 5000;
const DISTURBED_MS = FULL ? 60_000 : 15_000;
/** What the p99 of others may become, printed and not asserted: a machine may be busy. */
const MAX_RATIO = 5;
const MAX_RSS_MB = 600;
const MAX_APPENDED = 3;

const clickhouse = openClickhouse();
let attacked: GatewayProcess;
/** On the same machine, Kafka and Redis, without an attack of its own: its p99 is their noise. */
let neighbour: GatewayProcess;

beforeAll(async () => {
  attacked = await GatewayProcess.create();
  neighbour = await GatewayProcess.create();
  for (const gateway of [attacked, neighbour]) {
    await gateway.start();
    // Until then records go into the spool.
    await eventually({ ms: 60_000, waitingFor: 'Kafka' }, async () =>
      (await gateway.phase()) === 'direct' ? true : undefined,
    );
  }
}, testTimeout(180_000));
afterAll(async () => {
  await Promise.all([attacked.remove(), neighbour.remove()]);
});

/** Bytes of an account's records in events.raw from `from` on. */
async function appendedBytes(
  accountId: number,
  from: ReadonlyMap<number, number>,
): Promise<number> {
  let bytes = 0;
  for (const [partition, to] of await topicEnds(TOPIC.raw)) {
    const range = { topic: TOPIC.raw, partition, from: from.get(partition) ?? 0, to };
    const signal = AbortSignal.timeout(120_000);
    const read = { settings: stackKafka(), clientId: 'hostile-test', range, signal };
    for await (const batch of readRange(read))
      for (const { value } of batch)
        for (const one of value ? rawValuesIn(value) : [])
          if (rawRecordCodec.decode(one).account_id === accountId) bytes += one.length;
  }
  return bytes;
}

/** The most memory that a process ever had, in MB. */
function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
}

const spooled = (gateway: GatewayProcess) =>
  gateway.metric('ravand_gateway_records_total', 'outcome="spooled"');

type Pair<T> = [attacked: T, neighbour: T];

/** A table of both gateways, and whether others were delayed at most MAX_RATIO times. */
function verdict(before: Pair<Served>, during: Pair<Served>): string {
  const ratio = (at: 0 | 1) => during[at].p99 / before[at].p99;
  const row = (name: string, at: 0 | 1) =>
    `| ${name} | ${before[at].p99.toFixed(1)} | ${during[at].p99.toFixed(1)} | ${ratio(at).toFixed(1)} |`;
  return [
    '| Gateway | p99 undisturbed, ms | p99 during the attack, ms | ratio |',
    '| --- | --- | --- | --- |',
    row('attacked', 0),
    row('neighbour, not attacked', 1),
    `verdict: ${ratio(0) <= MAX_RATIO ? 'holds' : 'EXCEEDED'}: ${ratio(0).toFixed(1)} times undisturbed (at most ${MAX_RATIO}), ` +
      `${(during[0].p99 / during[1].p99).toFixed(1)} times the neighbour meanwhile`,
  ].join('\n');
}

/** Nothing may be spooled, unless Kafka did not answer the neighbour either: then it says so. */
async function expectNothingSpooled([before, neighbourBefore]: Pair<number>): Promise<void> {
  const count = (await spooled(attacked)) - before;
  const elsewhere = (await spooled(neighbour)) - neighbourBefore;
  if (count > 0) {
    const reasons = attacked.log.split('\n').filter((line) => line.includes('publish_failed'));
    console.log([`${count} records were spooled:`, ...reasons].join('\n'));
  }
  if (elsewhere > 0)
    console.log(
      `the spool is not judged: the neighbour, which nobody attacks, spooled ${elsewhere} records: ` +
        'Kafka did not answer in time on this machine',
    );
  else expect(count).toBe(0);
}

describe('a hostile client', () => {
  it(
    'makes no request of others fail, takes no more of memory and log than it may, and fills no spool',
    async () => {
      const [good, other, bad] = await Promise.all([
        createAccount('well-behaved'),
        createAccount('well-behaved at the neighbour'),
        createAccount('hostile'),
      ]);
      const ledger = new Ledger();
      const client = (gateway: GatewayProcess, { writeKey }: TestAccount, known: Ledger) => ({
        ...{ url: gateway.url, writeKey, ledger: known },
      });
      const clients = [client(attacked, good, ledger), client(neighbour, other, new Ledger())];
      const serve = async (ms: number) =>
        (await Promise.all(clients.map((one) => wellBehavedClients(one, ms)))) as Pair<Served>;

      const undisturbed = await serve(UNDISTURBED_MS);
      const from = await topicEnds(TOPIC.raw);
      const spooledBefore: Pair<number> = [await spooled(attacked), await spooled(neighbour)];
      const attack = await startAttack(attacked.url, bad.writeKey);
      const disturbed = await serve(DISTURBED_MS);
      const report = await attack.stop();
      const appended = (await appendedBytes(bad.accountId, from)) / report.received;
      const peak = peakMegabytes(attacked.pid);
      console.log(
        JSON.stringify({
          partitions: from.size,
          peak_mb: Math.round(peak),
          received_mb: Math.round(report.received / 1e6),
          appended_per_byte: Number(appended.toFixed(2)),
          well_behaved: [disturbed[0].statuses, disturbed[1].statuses],
          hostile: report.answers,
        }),
      );
      console.log(verdict(undisturbed, disturbed));

      for (const attackName of ['heads', 'gzip', 'json', 'people', 'keys'])
        expect(report.answers[attackName]).toBeDefined();
      expect(report.answers['people']?.[200]).toBeGreaterThan(0);
      for (const { statuses } of [...undisturbed, ...disturbed])
        expect(Object.keys(statuses)).toEqual(['200']);
      expect(peak).toBeLessThan(MAX_RSS_MB);
      expect(appended).toBeLessThanOrEqual(MAX_APPENDED);
      await expectNothingSpooled(spooledBefore);
      expect(await untilStored(clickhouse, good.accountId, ledger, 180_000)).toEqual({
        lost: [],
        doubled: [],
        unknown: [],
      });
    },
    testTimeout(FULL ? 600_000 : 360_000),
  );
});
