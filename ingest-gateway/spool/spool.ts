import { mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isWithinShare } from './account-share.ts';
import { Quarantine } from './quarantine.ts';
import { recoverSegments, type Recovered } from './recover.ts';
import { lockSpool } from './spool-lock.ts';
import { SpooledEvents } from './spooled-events.ts';
import { SpoolQueue } from './spool-queue.ts';

export interface SpoolOptions {
  folder: string;
  /** Bytes of all segments and of what waits to be written. */
  maxBytes: number;
  /** Bytes of new records in memory that wait to be written, in each queue. */
  maxQueuedBytes?: number;
  segmentBytes?: number;
  quarantineBytes?: number;
  diskDeadline?: number;
}

/** A partition of a topic. */
export interface TopicPartition {
  topic: string;
  partition: number;
}

const MIB = 1024 * 1024;
const MAX_QUEUED_BYTES = 64 * MIB;
/** The quarantine has an eighth of SPOOL_MAX_BYTES, and at least this. */
const MIN_QUARANTINE_BYTES = 64 * MIB;
/** Queues of partitions that cannot be written, in folders of this one. */
const PARTITIONS = 'partitions';
/** The queue of records that wait for another layout of the log. */
const HELD = 'held';

/**
 * The gateway's disk buffer. `main` is the queue of all records while Kafka is unavailable; a
 * partition that alone cannot be written has a queue of its own. `held` is the queue of records
 * that wait for another layout of the log (ingest-gateway/hold). No account can fill it. A record
 * is durable when `append` calls back without error. One process per folder; `openSpool` recovers
 * what an earlier process left.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #unlock: () => void;
  readonly #queues = new Map<string, TopicPartition & { queue: SpoolQueue }>();
  readonly main: SpoolQueue;
  readonly held: SpoolQueue;
  readonly quarantine: Quarantine;
  /** Torn segment tails found at the start. */
  torn: number;
  /** Records refused because their account's share was full. */
  refusedShares = 0;

  constructor(
    options: SpoolOptions,
    found: { main: Found; held: Found; partitions: readonly (TopicPartition & Found)[] } & {
      quarantine: Quarantine;
      unlock: () => void;
    },
  ) {
    this.#options = options;
    this.#unlock = found.unlock;
    this.quarantine = found.quarantine;
    this.torn = found.main.recovered.torn;
    this.main = this.#open(options.folder, found.main);
    this.torn += found.held.recovered.torn;
    this.held = this.#open(join(options.folder, HELD), found.held);
    for (const each of found.partitions) {
      this.torn += each.recovered.torn;
      const queue = this.#open(partitionFolder(options.folder, each), each);
      this.#queues.set(nameOf(each), { topic: each.topic, partition: each.partition, queue });
    }
  }

  /** Partitions whose queues hold records. */
  get occupied(): TopicPartition[] {
    return [...this.#queues.values()]
      .filter(({ queue }) => !queue.isEmpty)
      .map(({ topic, partition }) => ({ topic, partition }));
  }

  /** The queue of a partition; its folder is created by the first record. */
  of(of: TopicPartition): SpoolQueue {
    const known = this.#queues.get(nameOf(of));
    if (known) return known.queue;
    const recovered: Recovered = { segments: [], nextNumber: 1, torn: 0 };
    const folder = partitionFolder(this.#options.folder, of);
    const queue = this.#open(folder, { recovered, events: new SpooledEvents() });
    this.#queues.set(nameOf(of), { topic: of.topic, partition: of.partition, queue });
    return queue;
  }

  /** Bytes of segments and of records that wait to be written. */
  get bytes(): number {
    return this.#sum((queue) => queue.bytes);
  }

  get maxBytes(): number {
    return this.#options.maxBytes;
  }

  /** Records that are not in Kafka yet. */
  get records(): number {
    return this.#sum((queue) => queue.records);
  }

  get isEmpty(): boolean {
    return this.main.isEmpty && this.held.isEmpty && this.occupied.length === 0;
  }

  /** Accepted events in the spool. */
  get events(): { total: number; of: (accountId: number) => number } {
    return {
      total: this.#sum((queue) => queue.events.total),
      of: (accountId) => this.#sum((queue) => queue.events.of(accountId)),
    };
  }

  /** Why records cannot be appended at the moment; undefined when they can. */
  get problem(): string | undefined {
    if (this.main.problem !== undefined) return `the spool cannot be written: ${this.main.problem}`;
    return this.bytes >= this.maxBytes
      ? `the spool is full (${this.bytes} of ${this.maxBytes} bytes)`
      : undefined;
  }

  /** Writes what is queued and unlocks the folder. */
  async close(): Promise<void> {
    await this.main.close();
    await this.held.close();
    for (const { queue } of this.#queues.values()) await queue.close();
    this.#unlock();
  }

  #sum(read: (queue: SpoolQueue) => number): number {
    let sum = read(this.main) + read(this.held);
    for (const { queue } of this.#queues.values()) sum += read(queue);
    return sum;
  }

  #open(folder: string, { recovered, events }: Found): SpoolQueue {
    const { maxBytes, segmentBytes, diskDeadline, maxQueuedBytes } = this.#options;
    return new SpoolQueue({
      folder,
      isFolderNew: folder !== this.#options.folder,
      segmentBytes:
        segmentBytes ?? Math.max(64 * 1024, Math.min(8 * MIB, Math.floor(maxBytes / 8))),
      diskDeadline,
      maxQueuedBytes: maxQueuedBytes ?? MAX_QUEUED_BYTES,
      hasDiskRoom: (bytes) => this.bytes + bytes <= maxBytes,
      isWithinDiskShare: (accountId, bytes) => {
        const own = this.#sum((queue) => queue.events.bytesOf(accountId));
        return isWithinShare(bytes, { own, used: this.bytes, max: maxBytes });
      },
      onShareRefused: () => this.refusedShares++,
      quarantine: this.quarantine,
      events,
      recovered,
    });
  }
}

interface Found {
  recovered: Recovered;
  events: SpooledEvents;
}

/**
 * Opens the spool of a folder, which it creates if needed: locks it and recovers its segments.
 * Rejects with SpoolLocked, or when the disk fails.
 */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const { folder, maxBytes } = options;
  await mkdir(folder, { recursive: true });
  const unlock = await lockSpool(folder);
  try {
    const quarantine = new Quarantine({
      folder: join(folder, 'quarantine'),
      maxBytes: options.quarantineBytes ?? Math.max(MIN_QUARANTINE_BYTES, Math.floor(maxBytes / 8)),
    });
    await quarantine.measure();
    const recover = async (of: string): Promise<Found> => {
      const events = new SpooledEvents();
      return { recovered: await recoverSegments({ folder: of, quarantine, events }), events };
    };
    const main = await recover(folder);
    const names = await readdir(folder);
    const held = names.includes(HELD)
      ? await recover(join(folder, HELD))
      : { recovered: { segments: [], nextNumber: 1, torn: 0 }, events: new SpooledEvents() };
    const partitions: (TopicPartition & Found)[] = [];
    for (const of of await listPartitions(folder)) {
      const found = await recover(partitionFolder(folder, of));
      if (found.recovered.segments.length > 0) partitions.push({ ...of, ...found });
      else await rmdir(partitionFolder(folder, of)).catch(() => undefined);
    }
    return new Spool(options, { main, held, partitions, quarantine, unlock });
  } catch (error) {
    unlock();
    throw error;
  }
}

async function listPartitions(folder: string): Promise<TopicPartition[]> {
  const names = await readdir(join(folder, PARTITIONS)).catch(() => []);
  return names.flatMap((name) => {
    const parts = /^(.+)-(\d+)$/.exec(name);
    return parts?.[1] === undefined ? [] : [{ topic: parts[1], partition: Number(parts[2]) }];
  });
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}-${partition}`;
}

function partitionFolder(folder: string, of: TopicPartition): string {
  return join(folder, PARTITIONS, nameOf(of));
}
