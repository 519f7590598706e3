import { randomBytes } from 'node:crypto';
import { delay } from '../platform/backoff.ts';
import { isHeld, type LogLayout } from '../platform/log/layout.ts';
import { readLayoutAndErasures } from '../platform/log/recent-layout.ts';
import { useTopicNames } from '../platform/log/topic-names.ts';
import { removeWriter, WriterRow } from '../platform/log/writers.ts';
import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/pool.ts';

/**
 * While the layout of the log changes, a process without a spool publishes nothing: its records
 * wait, and are refused after some seconds.
 */
export interface WriterHold {
  /**
   * The recorded number of partitions, undefined when none is recorded. Waits while records are
   * held, and at the start until that is known; rejects when that takes too long.
   */
  partitions(): Promise<number | undefined>;
  /** Rejects while records are held, and until it is known whether they are. */
  run<T>(publish: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const POLL = 2000;
const POLL_IN_CHANGE = 250;
const WAIT = 5000;

export function writerHold({
  database,
  log,
  service,
}: {
  database: Database;
  log: Log;
  /** Registers under this name. */
  service: string;
}): WriterHold {
  const instance = randomBytes(8).toString('hex');
  const closing = new AbortController();
  let layout: LogLayout | undefined;
  let isKnown = false;
  let inFlight = 0;

  const isHolding = () => layout !== undefined && isHeld(layout);
  const obstacle = () => {
    if (!isKnown) return 'the layout of the log is not known yet: records wait';
    return isHolding() ? 'the layout of the log changes: records wait' : undefined;
  };
  const row = new WriterRow(database);
  const poll = async () => {
    await row.write({
      instance,
      service,
      generation: layout?.generation ?? 0,
      phase: !isHolding() ? 'passing' : inFlight > 0 ? 'draining' : 'held',
      waitsFor: '',
      spooled: 0,
    });
    // After the registration: a change that begins now waits for this process.
    const read = await readLayoutAndErasures(database);
    if (read) await useTopicNames(read);
    layout = read ?? layout;
    isKnown = true;
  };
  const polling = (async () => {
    while (!closing.signal.aborted) {
      await poll().catch((error: unknown) =>
        log.debug({ err: error }, 'the layout of the log cannot be read'),
      );
      await delay(isHolding() ? POLL_IN_CHANGE : POLL, closing.signal).catch(() => undefined);
    }
  })();
  return {
    async partitions() {
      const until = performance.now() + WAIT;
      for (let why = obstacle(); why !== undefined; why = obstacle()) {
        if (performance.now() > until) throw new Error(why);
        await delay(50, closing.signal);
      }
      return layout?.partitions;
    },
    async run(publish) {
      const why = obstacle();
      if (why !== undefined) throw new Error(why);
      inFlight++;
      try {
        return await publish();
      } finally {
        inFlight--;
      }
    },
    async close() {
      closing.abort(new Error('closing'));
      await polling;
      await removeWriter(database, instance).catch(() => undefined);
    },
  };
}
