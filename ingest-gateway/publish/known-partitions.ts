import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../platform/log.ts';

/**
 * Partition counts of the topics, learnt from Kafka and stored in the spool's folder: a gateway
 * that starts while Kafka is unreachable chooses the same partitions as before. Until Kafka has
 * been reached once, EVENTS_PARTITIONS applies.
 */
export class KnownPartitions {
  readonly #path: string;
  readonly #fallback: number;
  readonly #log: Log;
  #known: ReadonlyMap<string, number> = new Map();

  constructor(options: { folder: string; fallback: number; log: Log }) {
    this.#path = join(options.folder, 'partitions.json');
    this.#fallback = options.fallback;
    this.#log = options.log;
  }

  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch(() => '{}');
    try {
      const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
      this.#known = new Map(
        entries.filter(
          (entry): entry is [string, number] =>
            Number.isSafeInteger(entry[1]) && Number(entry[1]) > 0,
        ),
      );
    } catch {
      this.#log.warn(
        { path: this.#path },
        'the stored partition counts cannot be read; EVENTS_PARTITIONS applies until Kafka is reached',
      );
    }
  }

  of = (topic: string): number => this.#known.get(topic) ?? this.#fallback;

  learn = (partitions: ReadonlyMap<string, number>): void => {
    const isChanged = [...partitions].some(([topic, count]) => this.#known.get(topic) !== count);
    this.#known = partitions;
    if (!isChanged) return;
    const draft = `${this.#path}.new`;
    writeFile(draft, JSON.stringify(Object.fromEntries(partitions)), { flush: true })
      .then(() => rename(draft, this.#path))
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, 'the partition counts of the topics could not be stored'),
      );
  };
}
