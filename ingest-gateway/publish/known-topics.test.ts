import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { KnownTopics } from './known-topics.ts';

let folder: string;
let time = 0;
const log = createLog({ part: 'test', level: 'silent' });
const open = () =>
  new KnownTopics({ folder, fallback: 4, log, largestRecord: 5000, now: () => time });
const path = () => join(folder, 'partitions.json');

beforeEach(async () => {
  time = 0;
  folder = await mkdtemp(join(tmpdir(), 'ravand-topics-'));
});
afterEach(() => rm(folder, { recursive: true, maxRetries: 5 }));

async function stored(): Promise<void> {
  while ((await readFile(path(), 'utf8').catch(() => '')) === '')
    await new Promise((resolve) => setTimeout(resolve, 2));
}

describe('what is known about the topics', () => {
  it('is stored in a form that an earlier version reads', async () => {
    open().learn({ partitions: new Map([['a', 6]]), limits: new Map([['a', 4000]]) });
    await stored();
    expect(JSON.parse(await readFile(path(), 'utf8'))).toEqual({ a: 6, limits: { a: 4000 } });
    const next = open();
    await next.load();
    expect([next.partitionsOf('a'), next.partitionsOf('b')]).toEqual([6, 4]);
    expect([next.limitOf('a'), next.limitOf('b')]).toEqual([4000 - 512, Infinity]);
    expect(next.isTooLow).toBe(true);
  });

  it('is read from a file of an earlier version', async () => {
    await writeFile(path(), '{"a":6}');
    const topics = open();
    await topics.load();
    expect([topics.partitionsOf('a'), topics.limitOf('a'), topics.isTooLow]).toEqual([
      6,
      Infinity,
      false,
    ]);
  });

  it('keeps the limits when Kafka does not say them', () => {
    const topics = open();
    topics.learn({ partitions: new Map(), limits: new Map([['a', 4000]]) });
    topics.learn({ partitions: new Map(), limits: undefined });
    expect(topics.limitOf('a')).toBe(4000 - 512);
  });

  it('believes a refused size until the limit is raised, and for ten minutes at most', () => {
    const topics = open();
    topics.learnRefusal('a', 1000);
    topics.learnRefusal('a', 2000);
    expect(topics.limitOf('a')).toBe(999);
    time = 600_001;
    expect(topics.limitOf('a')).toBe(Infinity);
    topics.learn({ partitions: new Map(), limits: new Map([['a', 4000]]) });
    topics.learnRefusal('a', 1000);
    topics.learn({ partitions: new Map(), limits: new Map([['a', 4000]]) });
    expect(topics.limitOf('a')).toBe(999);
    topics.learn({ partitions: new Map(), limits: new Map([['a', 8000]]) });
    expect(topics.limitOf('a')).toBe(8000 - 512);
  });
});
