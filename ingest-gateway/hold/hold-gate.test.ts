import { cpSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { LogRecord } from '../../ingest/log-record.ts';
import { createLog } from '../../platform/log.ts';
import { ModelLog } from '../publish/testing/model-log.ts';
import {
  makeFolder,
  openPublisher,
  record,
  until,
  type UnderTest,
} from '../publish/testing/publisher-under-test.ts';
import { initialHold } from './evolve.ts';
import { HoldGate } from './hold-gate.ts';

const log = createLog({ part: 'test', level: 'silent' });
const STEADY = {
  generation: 1,
  partitions: 4,
  phase: 'steady',
  nextPartitions: undefined,
} as const;
const HOLDING = { ...STEADY, phase: 'holding', nextPartitions: 6 } as const;
const GROWN = { ...STEADY, generation: 2, partitions: 6 } as const;

interface Gated extends UnderTest {
  gate: HoldGate;
  normaliser: { hasAll: boolean };
}

async function open(
  model: ModelLog,
  of: { folder?: string; followed?: number; read?: typeof STEADY | typeof GROWN } = {},
): Promise<Gated> {
  const under = await openPublisher(model, { folder: of.folder ?? (await makeFolder()) });
  const normaliser = { hasAll: true };
  const gate = new HoldGate({
    initial: initialHold({
      followed: { generation: 1, partitions: of.followed ?? 4 },
      read: of.read ?? STEADY,
      hasHeld: !under.spool.held.isEmpty,
    }),
    queue: under.spool.held,
    publish: (records) => under.publisher.publish(records),
    isDrained: () => under.publisher.isDrained,
    isNormalised: () => Promise.resolve(normaliser.hasAll),
    onFollow: () => Promise.resolve(),
    limitOf: () => Infinity,
    log,
    period: 2,
  });
  return { ...under, gate, normaliser };
}

async function close({ gate, publisher, spool, folder }: Gated): Promise<void> {
  gate.close();
  await publisher.close(100);
  await spool.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** A record of the person with this hash, as an event writer makes it at this moment. */
const ofPerson = ({ gate }: Gated, number: number, hash: number): LogRecord =>
  record(number, { partition: hash % gate.splitBy });

const numbers = (model: ModelLog, partition: number) =>
  [
    ...new Set(
      model.appended.filter((one) => one.partition === partition).map(({ value }) => value),
    ),
  ].map(Number);

describe('the hold of a gateway', () => {
  it('answers while it holds, publishes nothing, and then everything in order by the new number', async () => {
    const model = new ModelLog();
    const under = await open(model);
    const { gate, publisher } = under;
    await until(() => publisher.phase === 'direct');
    expect(await gate.publish([ofPerson(under, 0, 5)])).toEqual([]);
    gate.follow(HOLDING);
    let spooled = 0;
    const held = { ...ofPerson(under, 1, 5), onSpooled: () => spooled++ };
    expect(await gate.publish([held])).toEqual([]);
    expect(spooled).toBe(1);
    await until(() => gate.phase === 'held');
    for (const number of [2, 3]) await gate.publish([ofPerson(under, number, 5)]);
    expect(model.appended.length).toBe(1);
    under.normaliser.hasAll = false;
    gate.follow(GROWN);
    await until(() => gate.phase === 'waiting');
    await gate.publish([ofPerson(under, 4, 5)]);
    expect(model.appended.length).toBe(1);
    under.normaliser.hasAll = true;
    await until(() => gate.phase === 'passing');
    await gate.publish([ofPerson(under, 5, 5)]);
    expect([numbers(model, 1), numbers(model, 5)]).toEqual([[0], [1, 2, 3, 4, 5]]);
    expect([under.spool.records, under.spool.events.total]).toEqual([0, 0]);
    await close(under);
  });

  it('is released under load, and loses or reorders nothing', async () => {
    const model = new ModelLog();
    const under = await open(model);
    const { gate, publisher } = under;
    await until(() => publisher.phase === 'direct');
    const load = { isOn: true, next: 0, refused: 0 };
    const answers: Promise<void>[] = [];
    const running = (async () => {
      while (load.isOn) {
        for (let each = 0; each < 5; each++)
          answers.push(
            gate
              .publish([ofPerson(under, load.next++, 7)])
              .then((refused) => void (load.refused += refused.length)),
          );
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    await until(() => load.next > 50);
    gate.follow(HOLDING);
    await until(() => gate.phase === 'held');
    const at = load.next;
    await until(() => load.next > at + 200);
    gate.follow(GROWN);
    await until(() => gate.phase === 'passing');
    const after = load.next;
    await until(() => load.next > after + 50);
    load.isOn = false;
    await running;
    await Promise.all(answers);
    const found = [...numbers(model, 3), ...numbers(model, 1)];
    expect(load.refused).toBe(0);
    expect(found).toEqual(Array.from({ length: load.next }, (_, number) => number));
    await close(under);
  });

  it('releases what it holds of many accounts in as many partitions', async () => {
    const model = new ModelLog();
    const under = await open(model);
    const { gate, publisher } = under;
    await until(() => publisher.phase === 'direct');
    gate.follow(HOLDING);
    await until(() => gate.phase === 'held');
    const all = Array.from({ length: 60 }, (_, number) => number);
    const ofAccount = (number: number) => ({
      ...ofPerson(under, number, number),
      accountId: number % 6,
    });
    await Promise.all(all.map((number) => gate.publish([ofAccount(number)])));
    gate.follow(GROWN);
    await until(() => gate.phase === 'passing');
    for (const account of [0, 1, 2, 3, 4, 5])
      expect(numbers(model, account)).toEqual(all.filter((number) => number % 6 === account));
    await close(under);
  });

  it('keeps what it held over kill -9, also when the growth was completed meanwhile', async () => {
    const model = new ModelLog();
    const before = await open(model);
    await until(() => before.publisher.phase === 'direct');
    before.gate.follow(HOLDING);
    await until(() => before.gate.phase === 'held');
    for (const number of [0, 1, 2]) await before.gate.publish([ofPerson(before, number, 4)]);
    const folder = await makeFolder();
    cpSync(before.folder, folder, { recursive: true });
    model.killProducers();
    const after = await open(model, { folder, followed: 4, read: GROWN });
    expect(await after.gate.publish([ofPerson(after, 3, 4)])).toEqual([]);
    await until(() => after.gate.phase === 'passing');
    await after.gate.publish([ofPerson(after, 4, 4)]);
    expect(numbers(model, 4)).toEqual([0, 1, 2, 3, 4]);
    await close(after);
    await close(before);
  });

  it('waits while Kafka is unavailable, and releases by the former number when it is cancelled', async () => {
    const model = new ModelLog();
    model.isUp = false;
    const under = await open(model);
    const { gate } = under;
    await gate.publish([ofPerson(under, 0, 5)]);
    gate.follow(HOLDING);
    await gate.publish([ofPerson(under, 1, 5)]);
    expect(gate.phase).toBe('draining');
    gate.follow(STEADY);
    model.isUp = true;
    await until(() => gate.phase === 'passing');
    await gate.publish([ofPerson(under, 2, 5)]);
    expect(numbers(model, 1)).toEqual([0, 1, 2]);
    await close(under);
  });
});
