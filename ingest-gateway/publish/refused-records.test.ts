import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { FRAME_HEADER_BYTES } from '../spool/frame.ts';
import { Quarantine } from '../spool/quarantine.ts';
import { encodeFrameHead } from '../spool/spooled-record.ts';
import { KnownTopics } from './known-topics.ts';
import { RefusedRecords } from './refused-records.ts';
import { record, until } from './testing/publisher-under-test.ts';

const TOPIC = 'events.raw';
const LARGEST = 5000;
const MINUTE = 60_000;
const log = createLog({ part: 'test', level: 'silent' });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ravand-refused-'));
});
afterEach(() => rm(folder, { recursive: true, maxRetries: 5 }));

it('limits that are too low are read once a minute, and what they then allow is published', async () => {
  const large = record(7, { bytes: 4000 });
  const quarantine = new Quarantine({ folder: join(folder, 'quarantine'), maxBytes: 1 << 20 });
  const payload = Buffer.concat([encodeFrameHead(large, Buffer.alloc(0)), large.value]);
  const bytes = payload.subarray(FRAME_HEADER_BYTES);
  await quarantine.keep({ name: '1-0.refused', bytes });
  const topics = new KnownTopics({ folder, fallback: 4, log, largestRecord: LARGEST });
  const limits = new Map([[TOPIC, 1000]]);
  topics.learn({ partitions: new Map([[TOPIC, 2]]), limits });
  const published: string[] = [];
  let reads = 0;
  const refused = new RefusedRecords({
    quarantine,
    topics,
    log,
    onLimits: () => undefined,
    publish: (records) => {
      published.push(...records.map(({ value }) => value.toString()));
      return Promise.resolve([]);
    },
    readLimits: () => {
      reads++;
      return Promise.resolve(new Map(limits));
    },
  });

  for (const clock of [MINUTE, MINUTE + 1, 2 * MINUTE - 1]) refused.check(clock);
  expect(reads).toBe(1);
  limits.set(TOPIC, 2 * LARGEST);
  let clock = 2 * MINUTE;
  await until(() => {
    refused.check((clock += MINUTE));
    return quarantine.bytes === 0;
  });
  expect(published).toEqual([large.value.toString()]);
  expect(await readdir(join(folder, 'quarantine'))).toEqual([]);
  const readsWhileTooLow = reads;
  refused.check((clock += MINUTE));
  expect(reads).toBe(readsWhileTooLow);
});
