import { topicEnds, committedOffsets, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { partitionsProblem, type LogLayout } from '../../platform/log/layout.ts';
import { readLayoutAndErasures } from '../../platform/log/recent-layout.ts';
import { removeWriter, WriterRow } from '../../platform/log/writers.ts';
import type { Log } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { GROUP, TOPIC } from '../../schemas/topology.ts';
import type { HoldGate } from './hold-gate.ts';

interface FollowOptions {
  /** The row of this gateway in gateway_instances. */
  instance: string;
  database: Pick<Database, 'query'>;
  log: Log;
  gate: Pick<HoldGate, 'state' | 'phase' | 'follow' | 'problem'>;
  /** Accepted events in the spool. */
  spooled: () => number;
  /** Accepted records that Kafka refuses for their size. */
  refused: () => Promise<number>;
  /** The layout that is followed now; resolves when it is stored for the next process. */
  onRead: (layout: LogLayout) => Promise<void>;
  /**
   * How many epochs of the log have begun, at each poll; undefined: that cannot be read, or was not
   * for 3 s, because PostgreSQL does not answer.
   */
  onEpochs: (epochs: number | undefined) => void;
  /** Partitions that Kafka has, by topic; empty while it is unreachable. */
  counts: () => Promise<ReadonlyMap<string, number>>;
}

export interface LayoutFollower {
  /** Registers this process, then reads the layout; never rejects. Before the first request. */
  start: () => Promise<void>;
  close: () => Promise<void>;
}

const POLL = 2000;
/** While writers hold or release their records, ms. */
const POLL_IN_CHANGE = 500;
/** Epochs that were read longer ago say nothing about the log, ms. */
const EPOCHS_LIVE_FOR = 3000;
const REFUSED =
  'records in the folder quarantine of its spool: raise max.message.bytes of events.raw, or remove the files';
/** The number of partitions that Kafka has is compared every so many polls. */
const COMPARE_EVERY = 5;

/**
 * Reads the layout of the log every 2 s, and records what this gateway does about it. Without
 * PostgreSQL the gateway goes on by the layout that it knows.
 */
export function followLayout(options: FollowOptions): LayoutFollower {
  const { database, log, gate, instance } = options;
  let timer: NodeJS.Timeout | undefined;
  let stale: NodeJS.Timeout | undefined;
  let polls = 0;
  let isClosed = false;

  const row = new WriterRow(database);
  const register = async () => {
    const refused = await options.refused();
    await row.write({
      instance,
      service: 'ingest-gateway',
      generation: gate.state.followed.generation,
      phase: gate.phase,
      waitsFor: refused === 0 ? '' : `${refused} ${REFUSED}`,
      spooled: options.spooled() + refused,
    });
  };
  const compare = async (layout: LogLayout) => {
    const problem = partitionsProblem(layout, await options.counts());
    if (problem !== undefined && problem !== gate.problem)
      log.error({ code: 'partitions_changed', recorded: layout.partitions }, problem);
    gate.problem = problem;
  };
  /** A query that hangs does not fail for a long time. */
  const watchAge = () => {
    clearTimeout(stale);
    if (isClosed) return;
    stale = setTimeout(() => {
      options.onEpochs(undefined);
      watchAge();
    }, EPOCHS_LIVE_FOR);
    stale.unref();
  };
  const poll = async () => {
    try {
      // In this order: a change that begins after the registration waits for this process, one that
      // began before it is read.
      await register();
      const layout = await readLayoutAndErasures(database);
      watchAge();
      options.onEpochs(layout?.epochs);
      if (!layout) return;
      const before = gate.phase;
      await options.onRead(layout);
      gate.follow(layout);
      if (gate.phase !== before) await register();
      if (polls++ % COMPARE_EVERY === 0) await compare(layout);
    } catch (error) {
      options.onEpochs(undefined);
      log.debug({ err: error }, 'the layout of the log cannot be read');
    }
  };
  const next = () => {
    if (isClosed) return;
    timer = setTimeout(
      () => void poll().then(next),
      gate.phase === 'passing' ? POLL : POLL_IN_CHANGE,
    );
    timer.unref();
  };
  return {
    start: async () => {
      watchAge();
      await poll();
      next();
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(stale);
      // An erasure waits for what the next process publishes.
      const kept = options.spooled() + (await options.refused());
      const leave = kept > 0 ? register() : removeWriter(database, instance);
      await leave.catch(() => undefined);
    },
  };
}

/**
 * Whether the normaliser has processed everything that is in events.raw at the first call: what it
 * forwards to other partitions is there then.
 */
export function normalisedCheck(settings: KafkaSettings): () => Promise<boolean> {
  let ends: ReadonlyMap<number, number> | undefined;
  return () =>
    withKafkaAdmin(settings, async (admin) => {
      ends ??= new Map(
        (await topicEnds(admin, TOPIC.raw)).map(({ partition, high }) => [partition, high]),
      );
      const committed = await committedOffsets(admin, GROUP.normaliser, TOPIC.raw);
      const isReached = [...ends].every(
        ([partition, end]) => end === 0 || (committed.get(partition) ?? 0) >= end,
      );
      if (isReached) ends = undefined;
      return isReached;
    });
}
