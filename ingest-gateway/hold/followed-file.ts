import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Followed } from './evolve.ts';

/** What a gateway must know without PostgreSQL: the layout that its records follow. */
export interface StoredLayout extends Followed {
  /** Id of the gateway whose spool this is: its processes have one row in gateway_instances. */
  instance: string;
  /** Physical names of topics. */
  topics: Readonly<Record<string, string>>;
}

/** The file of it in the folder of the spool, whose records it describes. */
export function followedFile(folder: string): {
  load: () => Promise<StoredLayout | undefined>;
  /** Resolves when it is durable. */
  store: (layout: StoredLayout) => Promise<void>;
} {
  const path = join(folder, 'layout.json');
  return {
    load: async () => {
      try {
        const stored = JSON.parse(await readFile(path, 'utf8')) as Partial<StoredLayout>;
        const { generation, partitions, instance, topics = {} } = stored;
        const isWhole = Number.isSafeInteger(generation) && Number.isSafeInteger(partitions);
        if (!isWhole || typeof instance !== 'string') return undefined;
        return { generation: Number(generation), partitions: Number(partitions), instance, topics };
      } catch {
        return undefined;
      }
    },
    store: async (layout) => {
      await writeFile(`${path}.new`, JSON.stringify(layout), { flush: true });
      await rename(`${path}.new`, path);
    },
  };
}
