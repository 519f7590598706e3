/**
 * ./ravand bench profiles -- [--people 1000000] [--events 1000000] [--partitions 4] [--cache 2GiB]
 * Events per second of the fold (decode, load, fold, save) on a real ClickHouse: of new people, of
 * people in the cache, and of people whose profiles are only in ClickHouse. One process, one
 * thread. Excludes reading from Kafka (see bench/sink.ts). Uses a temporary database on the
 * ClickHouse of the stack under RAVAND_HOME.
 */
import { randomBytes } from 'node:crypto';
import { parseLine } from '../cli/arguments.ts';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import { migrateClickhouse } from '../platform/clickhouse/migrate.ts';
import type { ConsumedMessage } from '../platform/kafka/consumer-types.ts';
import { createLog } from '../platform/log.ts';
import { clickhouseSettings } from '../platform/settings-common.ts';
import { parseSettings } from '../platform/settings.ts';
import { ddlFolders } from '../projections/ddl-folders.ts';
import { ProfileCache } from '../projections/profiles/cache.ts';
import { settings as profilesSettings } from '../projections/profiles/config.ts';
import { readEvents } from '../projections/profiles/read-events.ts';
import { coalescingStore } from '../projections/profiles/coalescing-store.ts';
import { clickhouseProfiles } from '../projections/profiles/store.ts';
import { foldTask } from '../projections/profiles/task.ts';
import { EventGenerator } from './profiles/event-generator.ts';
import { cpuOf, pidsOf } from './server-process.ts';
import { benchStack } from './stack.ts';
import { numberOf } from './numbers.ts';

const { values } = parseLine({
  args: process.argv.slice(2),
  usage: 'bench profiles -- [--people N] [--events N] [--partitions N] [--cache N]',
  options: {
    people: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '1000000' },
    partitions: { type: 'string', default: '4' },
    cache: { type: 'string', default: '2GiB' },
  },
});
const [people, events, partitions] = [
  numberOf(values, 'people'),
  numberOf(values, 'events'),
  numberOf(values, 'partitions'),
];
const config = parseSettings(profilesSettings, { PROFILES_CACHE_BYTES: values.cache });
const database = `bench_profiles_${randomBytes(4).toString('hex')}`;
const ready = benchStack();
const settings = parseSettings(clickhouseSettings, {
  CLICKHOUSE_URL: ready.clickhouse_url,
  CLICKHOUSE_DATABASE: database,
});
const log = createLog({ part: 'bench', level: 'warn' });
await migrateClickhouse(settings, ddlFolders());
const client = connectClickhouse({
  settings,
  name: 'bench',
  requestTimeout: 120_000,
  connections: 16,
});

const servers = await pidsOf(['clickhouse']);
/** CPU time of the stack's ClickHouse, ms; 0 for an external server. */
const serverCpu = () => servers.reduce((sum, pid) => sum + cpuOf(pid), 0);
/** Consecutive events of one person. */
const SESSION = 8;
/** Events of one batch: about PROFILES_BATCH_BYTES of the log. */
const BATCH_EVENTS = 36_000;

interface Measured {
  what: string;
  events: number;
  took: number;
  cpu: number;
  /** ms, of the server */
  clickhouseCpu: number;
  heap: number;
}

/** The baseline: decodes the needed fields of the same rows. */
function measureDecoding(batches: readonly ConsumedMessage[][]): Measured {
  const [began, before] = [performance.now(), process.cpuUsage()];
  const count = batches.flat().reduce((sum, message) => sum + readEvents(message).length, 0);
  const used = process.cpuUsage(before);
  return {
    what: 'decoding alone',
    events: count,
    took: performance.now() - began,
    cpu: (used.user + used.system) / 1000,
    clickhouseCpu: 0,
    heap: process.memoryUsage().heapUsed,
  };
}

/** One worker with empty caches. */
class Worker {
  readonly #caches: ProfileCache[] = [];
  readonly #store = coalescingStore(clickhouseProfiles({ client, cluster: '' }));
  readonly #tasks = Array.from({ length: partitions }, () => {
    const cache = new ProfileCache(() => config.PROFILES_CACHE_BYTES / partitions);
    this.#caches.push(cache);
    const metrics = {
      folded: () => undefined,
      unreadable: () => undefined,
      misplaced: () => undefined,
    };
    return foldTask({
      store: this.#store,
      cache,
      metrics,
      log,
      foldEvents: config.PROFILES_FOLD_EVENTS,
      signal: new AbortController().signal,
      onRelease: () => undefined,
    });
  });

  get cached(): number {
    return this.#caches.reduce((sum, { size }) => sum + size, 0);
  }

  get estimate(): number {
    return this.#caches.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Processes one batch per partition at a time. Only the processing is measured. */
  async measure(
    what: string,
    wanted: number,
    round: (count: number) => ConsumedMessage[][],
  ): Promise<Measured> {
    let [done, took, cpu] = [0, 0, 0];
    const serverBefore = serverCpu();
    while (done < wanted) {
      const count = Math.min(BATCH_EVENTS * partitions, wanted - done);
      const batches = round(count);
      const [began, before] = [performance.now(), process.cpuUsage()];
      await Promise.all(
        batches.flatMap((messages, partition) =>
          messages.length > 0
            ? [this.#tasks[partition]?.process(messages) ?? Promise.resolve(undefined)]
            : [],
        ),
      );
      const used = process.cpuUsage(before);
      took += performance.now() - began;
      cpu += (used.user + used.system) / 1000;
      done += count;
    }
    const clickhouseCpu = serverCpu() - serverBefore;
    globalThis.gc?.();
    return { what, events: done, took, cpu, clickhouseCpu, heap: process.memoryUsage().heapUsed };
  }
}

try {
  const generator = new EventGenerator({ people, partitions });
  let first: Worker | undefined = new Worker();
  const heapBefore = process.memoryUsage().heapUsed;
  const measured = [
    await first.measure(`${people} new people, one event each`, people, (count) =>
      generator.newPeople(count),
    ),
  ];
  const perPerson = Math.round(((measured[0]?.heap ?? 0) - heapBefore) / Math.max(1, first.cached));
  measured.push(
    await first.measure('warm: everybody in the cache, one event each', events, (count) =>
      generator.anyPeople(count),
    ),
  );
  measured.push(
    await first.measure(`warm, ${SESSION} events each`, events, (count) =>
      generator.anyPeople(count, SESSION),
    ),
  );
  const facts = {
    cached: first.cached,
    'heap bytes a cached person': perPerson,
    'estimated bytes a cached person': Math.round(first.estimate / Math.max(1, first.cached)),
  };
  first = undefined;
  globalThis.gc?.();
  measured.push(
    await new Worker().measure(
      'cold: an empty cache, everybody in ClickHouse, one event each',
      events,
      (count) => generator.anyPeople(count),
    ),
  );
  globalThis.gc?.();
  measured.push(
    await new Worker().measure(`cold, ${SESSION} events each`, events, (count) =>
      generator.anyPeople(count, SESSION),
    ),
  );
  measured.push(measureDecoding(generator.anyPeople(BATCH_EVENTS * partitions)));
  console.table(
    measured.map(({ what, events: count, took, cpu, clickhouseCpu, heap }) => ({
      what,
      events: count,
      'events/s': Math.round((count / took) * 1000),
      'CPU µs an event': Number(((cpu / count) * 1000).toFixed(2)),
      'events/s a core of the process': Math.round((count / cpu) * 1000),
      'ClickHouse CPU µs an event': Number(((clickhouseCpu / count) * 1000).toFixed(2)),
      'heap MiB': Math.round(heap / 2 ** 20),
    })),
  );
  const [check] = await (
    await client.query({
      query: 'SELECT count() AS people, sum(event_count) AS events FROM profiles FINAL',
      format: 'JSONEachRow',
    })
  ).json();
  console.log(
    JSON.stringify({
      ...facts,
      stored: check,
      sent: people + 4 * events,
      rss_mib: Math.round(process.memoryUsage.rss() / 2 ** 20),
    }),
  );
} finally {
  await client.command({ query: `DROP DATABASE ${database}` });
  await client.close();
}
