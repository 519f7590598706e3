import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { evidenceOf, type LogEnds, type RecordEvidence } from '../log/evidence.ts';
import { FIRST_RECORD } from '../log/decisive.ts';
import type { TopicPartition } from '../log/evidence-store.ts';
import type { ConsumedMessage } from './consumer-types.ts';
import { LogGuard } from './log-guard.ts';

const TOPIC = 't';
const never = new AbortController().signal;

function record(offset: number, text = 'a'): ConsumedMessage {
  const value = Buffer.from(text);
  return { topic: TOPIC, partition: 0, offset, timestamp: 1, key: null, value, size: 1 };
}

/** A guard over a log and a database in memory; the log may be replaced at any time. */
function given(
  before: readonly string[],
  writes?: (partition: number) => readonly TopicPartition[],
) {
  const stored = new Map<string, TopicPartition & RecordEvidence & { reader: string }>();
  const state = { log: [...before], low: 0, unfinished: false, epoch: 0, layout: [] as object[] };
  const contradictions: number[] = [];
  const writtenIn: (number | null)[] = [];
  const reads = { queries: 0, records: 0 };
  const database = {
    query: (sql: string, values: unknown[] = []) => {
      if (sql.includes('FROM log_layout')) return answer(state.layout);
      if (sql.includes('log_advances'))
        return answer([{ epoch: state.epoch, is_unfinished: state.unfinished }]);
      if (sql.startsWith('INSERT')) {
        const [reader, topics, partitions, next, appended, checksum, epochs] = values as [
          string,
          string[],
          number[],
          number[],
          number[],
          number[],
          (number | null)[],
        ];
        topics.forEach((topic, at) => {
          writtenIn.push(epochs[at] ?? null);
          const of = { topic, partition: Number(partitions[at]) };
          stored.set(`${reader}/${of.topic}/${of.partition}`, {
            ...{ ...of, reader, next: Number(next[at]), appendedAt: Number(appended[at]) },
            checksum: Number(checksum[at]),
          });
        });
        return answer([]);
      }
      reads.queries++;
      const [topics, partitions] = values as [string[], number[]];
      const wanted = [...stored.values()].filter(({ topic, partition }) =>
        topics.some((one, at) => one === topic && partitions[at] === partition),
      );
      return answer(
        wanted.map(({ next, appendedAt, ...rest }) => ({
          ...{ ...rest, next_offset: String(next), appended_at: String(appendedAt) },
        })),
      );
    },
  };
  const answer = (rows: unknown[]) => Promise.resolve({ rows });
  const guard = new LogGuard({
    database: database as never,
    probe: {
      ends: (): Promise<LogEnds> => Promise.resolve({ low: state.low, high: state.log.length }),
      evidenceAt: (_of, offset) => {
        reads.records++;
        return Promise.resolve(evidenceOf(record(offset, state.log[offset])));
      },
    },
    log: pino({ level: 'silent' }),
    reader: 'g',
    topic: TOPIC,
    writes,
    onContradiction: (partition) => contradictions.push(partition),
    closing: never,
  });
  const admit = (committed: number | undefined, signal = never) =>
    guard.admit(0, () => Promise.resolve(committed), signal);
  /** Whether the partition is refused; ends the attempt. */
  const isRefused = async (committed: number | undefined) => {
    const attempt = new AbortController();
    const admitted = admit(committed, attempt.signal).then(() => 'admitted');
    admitted.catch(() => undefined);
    for (let turn = 0; turn < 50 && guard.problems().length === 0; turn++)
      await Promise.race([admitted, Promise.resolve()]);
    const [problem] = guard.problems();
    attempt.abort(new Error('end'));
    await admitted.catch(() => undefined);
    return problem;
  };
  /** Another reader has read up to this record. */
  const otherHasRead = (offset: number, text: string, of = { topic: TOPIC, partition: 0 }) =>
    stored.set(`other/${of.topic}/${of.partition}`, {
      ...{ ...of, reader: 'other' },
      ...evidenceOf(record(offset, text)),
    });
  /** Resolves when the log was compared again after a lost connection. */
  const compared = async () => {
    guard.suspect();
    guard.appended({ topic: 'none', partition: 0, ...evidenceOf(record(0)) });
    await guard.flush();
  };
  return {
    guard,
    state,
    stored,
    contradictions,
    writtenIn,
    reads,
    admit,
    isRefused,
    otherHasRead,
    compared,
  };
}

describe('the guard of a log', () => {
  it('admits a log that agrees, and remembers its first record', async () => {
    const { admit, stored } = given(['a', 'b']);
    expect(await admit(1)).toMatchObject({ low: 0, high: 2, from: 1 });
    expect(stored.get(`${FIRST_RECORD}/t/0`)?.next).toBe(1);
  });

  it('asks about hundreds of partitions together, and remembers the first record of each', async () => {
    const { guard, reads, stored } = given(['a', 'b']);
    const partitions = Array.from({ length: 400 }, (_, partition) => partition);
    reads.queries = 0;
    await Promise.all(partitions.map((one) => guard.admit(one, () => Promise.resolve(1), never)));
    // The first partition asks at once, the others ask meanwhile: not one query for each.
    expect(reads.queries).toBeLessThan(10);
    expect(partitions.filter((one) => !stored.has(`${FIRST_RECORD}/t/${one}`))).toEqual([]);
  });

  it('admits nobody while a topic is being replaced, nor by a former name', async () => {
    const { admit, state, stored, guard } = given(['a', 'b']);
    const row = { phase: 'switching', change: { kind: 'rewrite' }, topics: {}, former_topics: {} };
    for (const layout of [row, { ...row, phase: 'steady', topics: { [TOPIC]: 't.1' } }]) {
      state.layout = [layout];
      const attempt = new AbortController();
      const admitted = admit(1, attempt.signal);
      setTimeout(() => attempt.abort(new Error('ended')), 30);
      await expect(admitted).rejects.toThrow('ended');
      expect([stored.size, guard.problems()]).toEqual([0, []]);
    }
    state.layout = [{ ...row, phase: 'holding' }];
    expect(await admit(1)).toMatchObject({ high: 2, from: 1 });
  });

  it('refuses a log that ends before the last record that was about to be processed', async () => {
    const { guard, state, isRefused } = given(['a', 'b', 'c']);
    guard.seen(0, record(2, 'c'));
    await guard.flush();
    state.log = ['a', 'b'];
    expect(await isRefused(1)).toContain('./ravand log advance-epoch');
  });

  it('refuses a log that holds another record there, whatever was committed', async () => {
    const { guard, state, isRefused } = given(['a', 'b', 'c']);
    guard.seen(0, record(2, 'c'));
    await guard.flush();
    state.log = ['a', 'b', 'x', 'y', 'z'];
    expect(await isRefused(3)).toContain('the record before it is another one');
    expect(await isRefused(0)).toContain('the record before it is another one');
  });

  it('refuses a topic that was created again', async () => {
    const { admit, state, isRefused } = given(['a']);
    await admit(undefined);
    state.log = ['x', 'y'];
    expect(await isRefused(undefined)).toContain('the topic was recreated');
  });

  it('refuses a committed offset past the end, without evidence', async () => {
    const { isRefused } = given(['a']);
    expect(await isRefused(5)).toContain('is at offset 5, and the log ends at 1');
  });

  it('admits a log whose retention removed the record', async () => {
    const { guard, state, admit } = given(['a', 'b', 'c', 'd']);
    guard.seen(0, record(1, 'b'));
    await guard.flush();
    state.low = 3;
    state.log = ['', '', '', 'd'];
    expect(await admit(2)).toMatchObject({ low: 3 });
  });

  it('refuses every log while the command that advances epochs is unfinished', async () => {
    const { state, isRefused } = given(['a']);
    state.unfinished = true;
    expect(await isRefused(0)).toContain('was not finished');
  });

  it('does not store evidence of another log that came with a new connection', async () => {
    const { guard, state, stored, contradictions } = given(['a', 'b', 'c']);
    guard.seen(0, record(2, 'c'));
    state.log = ['a', 'b', 'x', 'y'];
    guard.suspect();
    guard.seen(0, record(3, 'y'));
    await guard.flush();
    expect(contradictions).toEqual([0]);
    expect(stored.get('g/t/0')).toMatchObject({
      next: 3,
      checksum: evidenceOf(record(2, 'c')).checksum,
    });
  });

  it('says which epoch the evidence belongs to, also when it is written later', async () => {
    const { guard, state, writtenIn, admit } = given(['a', 'b', 'c']);
    state.epoch = 3;
    await admit(1);
    writtenIn.length = 0;
    guard.seen(0, record(1, 'b'));
    state.epoch = 4;
    await admit(1);
    await guard.flush();
    guard.seen(0, record(2, 'c'));
    await guard.flush();
    expect(writtenIn).toEqual([3, 4]);
  });

  it('goes on after a lost connection when the log is the same', async () => {
    const { guard, state, stored, contradictions } = given(['a', 'b', 'c']);
    guard.seen(0, record(1, 'b'));
    guard.suspect();
    state.log.push('d');
    guard.seen(0, record(3, 'd'));
    await guard.flush();
    expect([contradictions, stored.get('g/t/0')?.next]).toEqual([[], 4]);
  });

  describe('that another reader has read further', () => {
    it('refuses a partition whose own last record stands, when offsets after it were used again', async () => {
      const { guard, state, isRefused, otherHasRead } = given(['a', 'b', 'c', 'd']);
      guard.seen(0, record(1, 'b'));
      await guard.flush();
      otherHasRead(3, 'd');
      state.log = ['a', 'b', 'x', 'y', 'z'];
      expect(await isRefused(2)).toContain('other is at offset 4, and the record before it');
      state.log = ['a', 'b'];
      expect(await isRefused(2)).toContain('other is at offset 4, and the log ends at 2');
    });

    it('refuses a reader that has stored nothing', async () => {
      const { isRefused, otherHasRead } = given(['a', 'x', 'y']);
      otherHasRead(1, 'b');
      expect(await isRefused(undefined)).toContain('./ravand log advance-epoch');
    });

    it('refuses a partition when another reader read further in a topic that this one writes', async () => {
      const written = { topic: 'derived', partition: 0 };
      const { isRefused, otherHasRead } = given(['a', 'x'], () => [written]);
      otherHasRead(1, 'b', written);
      expect(await isRefused(0)).toContain(
        'partition 0 of derived went back: other is at offset 2',
      );
    });

    it('admits a log that holds the record, or whose retention removed it', async () => {
      const { state, admit, otherHasRead } = given(['a', 'b', 'c', 'd']);
      otherHasRead(2, 'c');
      expect(await admit(1)).toMatchObject({ from: 1 });
      state.log = ['', '', '', 'd'];
      state.low = 3;
      expect(await admit(1)).toMatchObject({ low: 3 });
    });

    it('counts only evidence about the partition itself', async () => {
      const { admit, otherHasRead } = given(['a', 'b']);
      otherHasRead(5, 'f', { topic: TOPIC, partition: 1 });
      expect(await admit(1)).toMatchObject({ from: 1 });
    });

    it('is compared with one query and one more record, and none when it is the same', async () => {
      const { guard, reads, admit, otherHasRead } = given(['a', 'b', 'c']);
      guard.seen(0, record(1, 'b'));
      await guard.flush();
      await admit(2);
      const alone = { ...reads, queries: 0 };
      Object.assign(reads, { queries: 0, records: 0 });
      otherHasRead(1, 'b');
      await admit(2);
      expect(reads).toEqual({ queries: 1, records: alone.records });
      otherHasRead(2, 'c');
      await admit(2);
      expect(reads).toEqual({ queries: 2, records: 2 * alone.records + 1 });
    });

    it('is compared after a lost connection, also where nothing was read since the start', async () => {
      const { state, contradictions, admit, otherHasRead, compared } = given(['a', 'b', 'c']);
      await admit(2);
      otherHasRead(2, 'c');
      await compared();
      expect(contradictions).toEqual([]);
      state.log = ['a', 'b', 'x', 'y'];
      await compared();
      expect(contradictions).toEqual([0]);
    });

    it('is compared after a lost connection where the own last record stands', async () => {
      const { guard, state, stored, contradictions, otherHasRead, admit } = given(['a', 'b', 'c']);
      await admit(0);
      guard.seen(0, record(1, 'b'));
      otherHasRead(2, 'c');
      state.log = ['a', 'b', 'x', 'y'];
      guard.suspect();
      guard.seen(0, record(3, 'y'));
      await guard.flush();
      expect([contradictions, stored.get('g/t/0')?.next]).toEqual([[0], 2]);
    });

    it('is not compared in a partition that was revoked', async () => {
      const { guard, state, contradictions, admit, otherHasRead, compared } = given(['a', 'b']);
      await admit(1);
      guard.forget(0);
      otherHasRead(1, 'b');
      state.log = ['a', 'x'];
      await compared();
      expect(contradictions).toEqual([]);
    });

    it('is compared once however often connections are lost while no broker answers', async () => {
      const { guard, reads, admit, compared } = given(['a', 'b']);
      await admit(1);
      reads.queries = 0;
      for (let loss = 0; loss < 50; loss++) guard.suspect();
      await compared();
      expect(reads.queries).toBeLessThanOrEqual(3);
    });
  });
});
