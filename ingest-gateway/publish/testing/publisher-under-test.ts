import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogRecord } from '../../../ingest/log-record.ts';
import { createLog } from '../../../platform/log.ts';
import { openSpool, type Spool, type SpoolOptions } from '../../spool/spool.ts';
import { KnownTopics } from '../known-topics.ts';
import type { PublisherOptions } from '../publisher-options.ts';
import { Publisher } from '../publisher.ts';
import type { ModelLog } from './model-log.ts';

const log = createLog({ part: 'test', level: 'silent' });

/** ms; everything else is short in relation to it. */
export const TIMEOUT = 60;

export interface UnderTest {
  publisher: Publisher;
  spool: Spool;
  topics: KnownTopics;
  folder: string;
}

/** A publisher over a model of the log and a spool on disk. */
export async function openPublisher(
  model: ModelLog,
  options: Partial<PublisherOptions> & { folder: string; spool?: never } & {
    spoolOptions?: Partial<SpoolOptions>;
  },
): Promise<UnderTest> {
  const { folder, spoolOptions, ...rest } = options;
  const spool = await openSpool({ folder, maxBytes: 1 << 20, ...spoolOptions });
  const topics = new KnownTopics({ folder, fallback: 4, log, largestRecord: 1000 });
  await topics.load();
  const publisher = new Publisher({
    connect: model.connect,
    topics,
    log,
    timeout: TIMEOUT,
    maxInFlightBytes: 1 << 20,
    retry: { base: 2, cap: 10 },
    batches: { linger: 1, isWritten: () => true },
    ...rest,
    spool,
  });
  return { publisher, spool, topics, folder };
}

export async function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'ravand-publisher-'));
}

/** Opens a publisher in a folder of its own for `work`. */
export async function withPublisher(
  model: ModelLog,
  work: (under: UnderTest) => Promise<void>,
  options: Omit<Parameters<typeof openPublisher>[1], 'folder'> & { folder?: string } = {},
): Promise<void> {
  const folder = options.folder ?? (await makeFolder());
  const under = await openPublisher(model, { ...options, folder });
  try {
    await work(under);
  } finally {
    await under.publisher.close(100);
    await under.spool.close();
    if (options.folder === undefined) await rm(folder, { recursive: true, maxRetries: 5 });
  }
}

export function record(
  number: number,
  { partition = number % 2, accountId = 1, bytes = 0 } = {},
): LogRecord {
  const value = Buffer.from(String(number).padStart(bytes, '0'));
  return { topic: 'events.raw', partition, key: null, value, accountId, events: 1 };
}

/** Waits for a condition; rejects when it does not become true. */
export async function until(condition: () => boolean, ms = 20_000): Promise<void> {
  for (const start = Date.now(); !condition();) {
    if (Date.now() - start > ms) throw new Error(`waited ${ms} ms for ${String(condition)}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
