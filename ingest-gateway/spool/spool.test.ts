import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SpoolRefused } from './append-queue.ts';
import { QuarantineFailed } from './quarantine.ts';
import { openSpool, type Spool, type SpoolOptions } from './spool.ts';
import { SpoolLocked } from './spool-lock.ts';
import { decodePayload } from './spooled-record.ts';
import type { LogRecord } from '../../ingest/log-record.ts';

let folder: string;
let open: Spool[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ravand-spool-'));
});

afterEach(async () => {
  for (const spool of open) await spool.close().catch(() => undefined);
  open = [];
  await rm(folder, { recursive: true, force: true });
});

async function opened(options: Partial<SpoolOptions> = {}): Promise<Spool> {
  const spool = await openSpool({ folder, maxBytes: 1024 * 1024, ...options });
  open.push(spool);
  return spool;
}

function record(value: string, partition = 0, accountId = 7): LogRecord {
  return {
    topic: 'events.raw',
    partition,
    key: value.startsWith('k') ? value : null,
    value: Buffer.from(value),
    accountId,
    events: 2,
  };
}

async function append(
  spool: Spool,
  values: readonly string[],
): Promise<(SpoolRefused | undefined)[]> {
  return Promise.all(
    values.map(
      (value) =>
        new Promise<SpoolRefused | undefined>((resolve) =>
          spool.main.append(record(value), resolve),
        ),
    ),
  );
}

async function drain(spool: Spool): Promise<string[]> {
  const values: string[] = [];
  const reader = spool.main.startReading();
  for (
    let frames = await reader.read(1 << 20);
    frames.length > 0;
    frames = await reader.read(1 << 20)
  ) {
    values.push(
      ...frames.map((frame) => decodePayload(frame.payload)?.value.toString() ?? 'unreadable'),
    );
    await reader.acknowledge(frames);
  }
  return values;
}

/** Leaves the files as a kill -9 would: written so far, and without a lock. */
async function abandon(spool: Spool): Promise<void> {
  open = open.filter((one) => one !== spool);
  const copy = `${folder}-copy`;
  await cp(folder, copy, { recursive: true });
  await spool.close();
  await rm(folder, { recursive: true });
  await rename(copy, folder);
}

async function segmentFiles(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.spool')).sort();
}

describe('the spool', () => {
  it('returns records in order across segments and removes their files', async () => {
    const spool = await opened({ segmentBytes: 200 });
    const values = Array.from({ length: 40 }, (_, at) => `${at % 3 === 0 ? 'k' : ''}value-${at}`);
    for (let at = 0; at < values.length; at += 4)
      expect(await append(spool, values.slice(at, at + 4))).toEqual(Array(4).fill(undefined));
    expect([spool.records, spool.events.total, spool.events.of(7), spool.events.of(8)]).toEqual([
      40, 80, 80, 0,
    ]);
    expect((await segmentFiles()).length).toBeGreaterThan(3);
    expect(await drain(spool)).toEqual(values);
    expect(spool.isEmpty).toBe(true);
    await spool.main.clear();
    expect(await segmentFiles()).toEqual([]);
    expect([spool.bytes, spool.records]).toEqual([0, 0]);
  });

  it('accepts records while it is drained, and again after it was cleared', async () => {
    const spool = await opened();
    await append(spool, ['a']);
    expect(await drain(spool)).toEqual(['a']);
    await append(spool, ['b']);
    expect(await drain(spool)).toEqual(['b']);
    await spool.main.clear();
    await append(spool, ['c']);
    expect(await drain(spool)).toEqual(['c']);
  });

  it('has everything that was not acknowledged, in order, after kill -9', async () => {
    const first = await opened({ segmentBytes: 100 });
    await append(first, ['a', 'b']);
    await append(first, ['c', 'd']);
    await append(first, ['e']);
    const reader = first.main.startReading();
    await reader.acknowledge(await reader.read(1));
    await abandon(first);
    const second = await opened();
    expect(second.events.of(7)).toBe(2 * second.records);
    const left = await drain(second);
    expect([second.events.of(7), second.events.total]).toEqual([0, 0]);
    expect(left.slice(-4)).toEqual(['b', 'c', 'd', 'e']);
    expect(['a', 'b']).toContain(left[0]);
  });

  it('reads frames again that were not acknowledged', async () => {
    const spool = await opened();
    await append(spool, ['a', 'b', 'c']);
    const reader = spool.main.startReading();
    await reader.acknowledge(await reader.read(1));
    await reader.read(1);
    expect(await drain(spool)).toEqual(['b', 'c']);
    expect(spool.isEmpty).toBe(true);
  });

  it('ignores a reader that was replaced, also one whose read ends later', async () => {
    const spool = await opened();
    await append(spool, ['a', 'b', 'c']);
    const old = spool.main.startReading();
    const first = await old.read(1);
    const late = old.read(1);
    const reader = spool.main.startReading();
    expect(await late.catch(() => [])).toEqual([]);
    await old.acknowledge(first);
    expect([spool.records, spool.events.total]).toEqual([3, 6]);
    const frames = await reader.read(1 << 20);
    expect(frames.length).toBe(3);
    await reader.acknowledge(frames);
    await old.acknowledge(first);
    expect([spool.records, spool.events.total, spool.isEmpty]).toEqual([0, 0, true]);
  });

  it('always accepts what was in flight, however much new records wait for the disk', async () => {
    const spool = await opened({ maxQueuedBytes: 300 });
    const answers = Array.from({ length: 20 }, (_, number) => {
      const { promise, resolve } = Promise.withResolvers<SpoolRefused | undefined>();
      const spilled = number >= 10;
      spool.main.append(record('x'.repeat(50)), resolve, spilled ? 'disk' : 'memory_and_disk');
      return promise;
    });
    const codes = (await Promise.all(answers)).map((answer) => answer?.code);
    expect(codes.slice(0, 10).filter((code) => code === undefined).length).toBe(2);
    expect(codes.slice(10)).toEqual(Array(10).fill(undefined));
  });

  it('has a queue for each partition that cannot be written, within the same limit', async () => {
    const first = await opened({ maxBytes: 500, segmentBytes: 100 });
    const side = first.of({ topic: 'events.raw', partition: 3 });
    const appended = (value: string) =>
      new Promise<SpoolRefused | undefined>((resolve) => side.append(record(value, 3), resolve));
    expect(await appended('x'.repeat(100))).toBeUndefined();
    await append(first, ['a']);
    expect([first.records, first.events.of(7), first.isEmpty]).toEqual([2, 4, false]);
    expect(first.occupied).toEqual([{ topic: 'events.raw', partition: 3 }]);
    expect((await appended('x'.repeat(300)))?.code).toBe('spool_full');
    await abandon(first);
    const second = await opened();
    expect([second.records, second.events.of(7)]).toEqual([2, 4]);
    expect(second.occupied).toEqual([{ topic: 'events.raw', partition: 3 }]);
    const reader = second.of({ topic: 'events.raw', partition: 3 }).startReading();
    const frames = await reader.read(1000);
    expect(frames.length).toBe(1);
    await reader.acknowledge(frames);
    expect(second.occupied).toEqual([]);
    expect(await drain(second)).toEqual(['a']);
  });

  describe('shares', () => {
    const KIB = 'x'.repeat(1000);
    /** Appends one record after the other until one is refused; returns how many were accepted. */
    async function fill(spool: Spool, accountId: number, value = KIB) {
      for (let accepted = 0; ; accepted++) {
        const { promise, resolve } = Promise.withResolvers<SpoolRefused | undefined>();
        spool.main.append(record(value, 0, accountId), resolve);
        const error = await promise;
        if (error) return { accepted, code: error.code };
      }
    }

    it('leave a quarter of the disk to others when one account fills it', async () => {
      const spool = await opened({ maxBytes: 100_000, segmentBytes: 10_000 });
      const first = await fill(spool, 1);
      expect(first.code).toBe('spool_share');
      expect(first.accepted).toBeGreaterThan(65);
      expect(spool.bytes).toBeLessThanOrEqual(75_000);
      expect((await fill(spool, 2)).accepted).toBeGreaterThan(10);
      expect((await fill(spool, 3)).accepted).toBeGreaterThan(2);
      expect((await fill(spool, 1)).accepted).toBe(0);
      expect(spool.refusedShares).toBe(4);
    });

    it('count what is held while the layout of the log changes', async () => {
      const spool = await opened({ maxBytes: 100_000, segmentBytes: 10_000 });
      await fill(spool, 1);
      const held = await new Promise<SpoolRefused | undefined>((resolve) =>
        spool.held.append(record(KIB, 0, 1), resolve),
      );
      expect(held?.code).toBe('spool_share');
    });

    it('are freed by what is in Kafka, and known again after a kill', async () => {
      const first = await opened({ maxBytes: 20_000, segmentBytes: 5000 });
      await fill(first, 1);
      await abandon(first);
      const second = await opened({ maxBytes: 20_000, segmentBytes: 5000 });
      expect((await fill(second, 1)).accepted).toBe(0);
      expect((await fill(second, 2)).accepted).toBeGreaterThan(0);
      await drain(second);
      await second.main.clear();
      expect((await fill(second, 1)).accepted).toBeGreaterThan(10);
    });

    it('hold for what waits for the disk in memory, too', async () => {
      const spool = await opened({ maxQueuedBytes: 100_000 });
      const append = (accountId: number) =>
        new Promise<SpoolRefused | undefined>((resolve) =>
          spool.main.append(record(KIB, 0, accountId), resolve),
        );
      const answers = Array.from({ length: 100 }, () => append(1));
      const other = append(2);
      const refused = (await Promise.all(answers)).filter((answer) => answer !== undefined);
      expect(refused.length).toBeGreaterThan(20);
      expect(await other).toBeUndefined();
    });

    it('do not hold for what was accepted before', async () => {
      const spool = await opened({ maxBytes: 20_000, segmentBytes: 5000 });
      await fill(spool, 1);
      const { promise, resolve } = Promise.withResolvers<SpoolRefused | undefined>();
      spool.main.append(record(KIB, 0, 1), resolve, 'disk');
      expect(await promise).toBeUndefined();
    });
  });

  it('refuses records while it is full', async () => {
    const spool = await opened({ maxBytes: 1000, segmentBytes: 100 });
    const answers = await append(
      spool,
      Array.from({ length: 20 }, () => 'x'.repeat(50)),
    );
    const appended = answers.filter((answer) => answer === undefined).length;
    expect(appended).toBeGreaterThan(3);
    expect(answers.filter((answer) => answer !== undefined).length).toBe(20 - appended);
    expect((await drain(spool)).length).toBe(appended);
    expect(await append(spool, ['y'])).toEqual([undefined]);
  });

  it('refuses records while the disk fails', async () => {
    const spool = await opened();
    await rm(folder, { recursive: true });
    expect((await append(spool, ['a', 'b'])).map((answer) => answer?.code)).toEqual([
      'spool_disk',
      'spool_disk',
    ]);
    expect(spool.problem).toContain('cannot be written');
    await mkdir(folder);
    expect(await append(spool, ['c'])).toEqual([undefined]);
    expect(spool.problem).toBeUndefined();
    expect(await drain(spool)).toEqual(['c']);
  });

  it('refuses records after it was closed', async () => {
    const spool = await opened();
    await spool.close();
    expect((await append(spool, ['a'])).map((answer) => answer?.code)).toEqual(['spool_closed']);
  });
});

describe('recovery', () => {
  it('cuts off a torn tail', async () => {
    const first = await opened();
    await append(first, ['a', 'b']);
    await abandon(first);
    const [file = ''] = await segmentFiles();
    const { size } = await stat(join(folder, file));
    await truncate(join(folder, file), size - 1);
    const second = await opened();
    expect(second.torn).toBe(1);
    expect(await drain(second)).toEqual(['a']);
    expect(second.quarantine.found).toBe(0);
  });

  it('keeps the last frame when only its length is damaged: it is no torn write', async () => {
    const first = await opened();
    await append(first, ['aaaa', 'bbbb']);
    await abandon(first);
    const [file = ''] = await segmentFiles();
    const bytes = await readFile(join(folder, file));
    const last = bytes.lastIndexOf(bytes.subarray(0, 8));
    bytes.writeUInt32LE(1 << 20, last + 8);
    await writeFile(join(folder, file), bytes);
    const second = await opened();
    expect([second.torn, second.quarantine.found]).toEqual([0, 1]);
    expect(await drain(second)).toEqual(['aaaa']);
    const [kept = ''] = await readdir(join(folder, 'quarantine'));
    expect((await readFile(join(folder, 'quarantine', kept))).includes('bbbb')).toBe(true);
  });

  it('quarantines a damaged frame and continues after it', async () => {
    const first = await opened();
    await append(first, ['aaaa', 'bbbb', 'cccc']);
    await abandon(first);
    const [file = ''] = await segmentFiles();
    const bytes = await readFile(join(folder, file));
    bytes[bytes.indexOf('bbbb') + 1] = 0;
    await writeFile(join(folder, file), bytes);
    const second = await opened();
    expect(second.quarantine.found).toBe(1);
    expect(second.torn).toBe(0);
    expect(await drain(second)).toEqual(['aaaa', 'cccc']);
    expect(second.quarantine.found).toBe(1);
    expect(second.isEmpty).toBe(true);
    const kept = await readdir(join(folder, 'quarantine'));
    expect((await readFile(join(folder, 'quarantine', kept[0] ?? ''))).includes('b\0bb')).toBe(
      true,
    );
  });

  /** Damages the second of three frames on disk, and prevents that it can be kept. */
  async function damageWithoutQuarantine(): Promise<void> {
    const first = await opened();
    await append(first, ['aaaa', 'bbbb', 'cccc']);
    await abandon(first);
    const [file = ''] = await segmentFiles();
    const bytes = await readFile(join(folder, file));
    bytes[bytes.indexOf('bbbb') + 1] = 0;
    await writeFile(join(folder, file), bytes);
    await writeFile(join(folder, 'quarantine'), 'a file where the folder should be');
  }

  it('does not read past damage that cannot be kept, until it can', async () => {
    await damageWithoutQuarantine();
    const spool = await opened();
    expect([spool.quarantine.found, spool.records]).toEqual([0, 2]);
    await expect(drain(spool)).rejects.toThrow(QuarantineFailed);
    await expect(drain(spool)).rejects.toThrow('make the folder writable');
    expect([spool.quarantine.found, spool.records]).toEqual([0, 2]);
    await rm(join(folder, 'quarantine'));
    expect(await drain(spool)).toEqual(['aaaa', 'cccc']);
    expect([spool.quarantine.found, spool.isEmpty]).toEqual([1, true]);
    const [kept = ''] = await readdir(join(folder, 'quarantine'));
    expect((await readFile(join(folder, 'quarantine', kept))).includes('b\0bb')).toBe(true);
  });

  it('keeps the file of damage that cannot be kept, also over stops and starts', async () => {
    await damageWithoutQuarantine();
    const first = await opened();
    await expect(drain(first)).rejects.toThrow(QuarantineFailed);
    await first.close();
    const second = await opened();
    await rm(join(folder, 'quarantine'));
    expect(await drain(second)).toEqual(['aaaa', 'cccc']);
    expect(second.quarantine.found).toBe(1);
  });

  it('removes segments without frames', async () => {
    await writeFile(join(folder, '000000000007-0011223344556677.spool'), Buffer.alloc(100));
    const spool = await opened();
    expect(await segmentFiles()).toEqual([]);
    await append(spool, ['a']);
    expect((await segmentFiles())[0]).toMatch(/^000000000008-/);
  });
});

it('a folder is open once', async () => {
  const first = await opened();
  await expect(opened()).rejects.toThrow(SpoolLocked);
  await first.close();
  await opened();
});
