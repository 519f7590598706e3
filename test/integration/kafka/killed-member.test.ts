import { randomUUID } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { committedOffsets, withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import { groupMembers } from '../../../platform/kafka/group-members.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { connectTestProducer } from '../../support/producer.ts';
import { eventually, FULL, readyStack, sleep } from '../../support/stack.ts';

const PARTITIONS = 4;
const KILLS = FULL ? 20 : 8;
const MEMBER = join(import.meta.dirname, 'member-process.ts');

/**
 * A killed member holds its partitions until its session of 4 s ends, which is two kills; their
 * next owner may be the next victim.
 */
const MAX_IDLE_KILLS = 4;

/** Two members; the second is killed again and again, 3 s after it started. */
async function run(names: { survivor: string; victim: string }): Promise<{
  longestIdle: number;
  survivorBetweenKills: number[];
}> {
  const topic = `killed-member-${randomUUID()}`;
  const settings = parseSettings(kafkaSettings, { KAFKA_BROKERS: readyStack().kafka_brokers });
  const topics = [{ topic, numPartitions: PARTITIONS, replicationFactor: 1 }];
  await withKafkaAdmin(settings, (admin) => admin.createTopics({ waitForLeaders: true, topics }));
  const producer = await connectTestProducer(settings);
  let sent = 0;
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
  const pump = setInterval(() => {
    sent++;
    for (const partition of partitions)
      void producer.publish({ topic, partition, key: null, value: Buffer.from('x') });
  }, 50);

  const processed = { survivor: partitions.map(() => 0), victim: partitions.map(() => 0) };
  const running = new Set<ChildProcess>();
  const start = (role: 'survivor' | 'victim') => {
    const child = spawn(process.execPath, [MEMBER, topic, topic, names[role]], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, KAFKA_BROKERS: readyStack().kafka_brokers },
    });
    running.add(child);
    createInterface({ input: child.stdout }).on('line', (line) => {
      processed[role][Number(line)] = (processed[role][Number(line)] ?? 0) + 1;
    });
    return child;
  };
  const byPartition = () =>
    partitions.map((at) => (processed.survivor[at] ?? 0) + (processed.victim[at] ?? 0));
  const ofSurvivor = () => processed.survivor.reduce((a, b) => a + b, 0);
  const kill = async (child: ChildProcess) => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    running.delete(child);
  };

  try {
    start('survivor');
    let victim = start('victim');
    await eventually({ ms: 60_000, waitingFor: 'both members to process' }, () =>
      Promise.resolve(
        processed.victim.some((n) => n > 0) && processed.survivor.some((n) => n > 0)
          ? true
          : undefined,
      ),
    );
    await eventually({ ms: 60_000, waitingFor: 'the members to own all partitions' }, async () => {
      const members = await withKafkaAdmin(settings, (admin) =>
        groupMembers(admin, settings, [topic]),
      );
      const found = members.get(topic) ?? [];
      const owned = found.flatMap((one) => one.partitions.get(topic) ?? []).toSorted();
      const isWhole = found.length === 2 && owned.join() === partitions.join();
      return isWhole && found.every(({ clientId }) => clientId.startsWith('member'))
        ? true
        : undefined;
    });
    const idle = partitions.map(() => 0);
    const survivorBetweenKills: number[] = [];
    let longestIdle = 0;
    for (let n = 0; n < KILLS; n++) {
      const before = byPartition();
      const survivorBefore = ofSurvivor();
      await kill(victim);
      victim = start('victim');
      await sleep(3000);
      for (const [partition, count] of byPartition().entries()) {
        idle[partition] = count > (before[partition] ?? 0) ? 0 : (idle[partition] ?? 0) + 1;
        longestIdle = Math.max(longestIdle, idle[partition]);
      }
      survivorBetweenKills.push(ofSurvivor() - survivorBefore);
    }
    clearInterval(pump);
    await eventually({ ms: 60_000, waitingFor: 'every record to be processed' }, async () => {
      const committed = await withKafkaAdmin(settings, (admin) =>
        committedOffsets(admin, topic, topic),
      );
      return partitions.every((partition) => committed.get(partition) === sent) ? true : undefined;
    });
    return { longestIdle, survivorBetweenKills };
  } finally {
    clearInterval(pump);
    await Promise.all([...running].map(kill));
    await producer.close(2000);
    await withKafkaAdmin(settings, (admin) => admin.deleteTopics({ topics: [topic] }));
  }
}

const NAMES = [
  ['neither member has a name', { survivor: '', victim: '' }],
  ['both members have names', { survivor: 'survivor', victim: 'victim' }],
  ['only the survivor has a name', { survivor: 'survivor', victim: '' }],
] as const;

it.each(FULL ? NAMES : NAMES.slice(0, 1))(
  'a member that is killed every 3 s delays its partitions by a few kills, and the survivor never stops, when %s',
  async (_, names) => {
    const { longestIdle, survivorBetweenKills } = await run(names);
    expect(longestIdle).toBeLessThanOrEqual(MAX_IDLE_KILLS);
    for (const records of survivorBetweenKills) expect(records).toBeGreaterThan(0);
  },
  240_000,
);
