import { withDeadline } from '../../../platform/deadline.ts';
import { addInboxEntries, type InboxEntry } from '../../../platform/inbox/inbox-entries.ts';
import type { Database } from '../../../platform/postgres/pool.ts';

interface Waiting {
  entry: InboxEntry;
  resolve: () => void;
  reject: (error: unknown) => void;
}

const STATEMENT = { ms: 10_000, waitingFor: 'the inbox in PostgreSQL' };
const MAX_PER_STATEMENT = 500;
const MAX_WAITING = 10_000;

/** Adds entries to inboxes, all that wait in one statement; one statement runs at a time. */
export class EntryBatches {
  readonly #database: Pick<Database, 'query'>;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
  }

  /** Resolves when the entry is durable. Rejects with the error of PostgreSQL. */
  add(entry: InboxEntry): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING)
      return Promise.reject(new Error(`${MAX_WAITING} entries wait already`));
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.#waiting.push({ entry, resolve: () => resolve(undefined), reject });
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      // Entries that are added in this turn of the event loop go with the first one.
      await Promise.resolve();
      const batch = this.#waiting.splice(0, MAX_PER_STATEMENT);
      try {
        const entries = batch.map(({ entry }) => entry);
        await withDeadline(STATEMENT, addInboxEntries(this.#database, entries));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
