import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client';
import { availableParallelism, totalmem } from 'node:os';
import type { Registry } from 'prom-client';
import { connectClickhouse } from '../platform/clickhouse/client.ts';
import type { Log } from '../platform/log.ts';
import { metricsOf, type MetricName } from '../platform/metrics.ts';
import { audienceCounter } from './audiences/count.ts';
import { AccountSlots } from './limits/account-slots.ts';
import { peopleCounter, type CountPeople } from './campaigns/stats/read-campaign-stats.ts';
import type { querySettings } from './settings.ts';
import type { clickhouseSettings } from '../platform/settings-common.ts';
import type { SettingsOf } from '../platform/settings.ts';
import { qualityQuery } from './quality/queries.ts';
import { cachedRows } from './reports/cache/cached-rows.ts';
import { KeptAnswers, type KeptLimits } from './reports/cache/kept-answers.ts';
import { LargeReports } from './reports/few-events/large-reports.ts';
import { eventsMemory } from './reports/many-events/memory-limit.ts';
import { ReportThreads } from './reports/many-events/report-threads.ts';
import { readReport, reportsOver, type RowsOf } from './reports/run.ts';
import { schemaQueries } from './schema/queries.ts';
import type { Services } from './services.ts';
import { readRows } from '../platform/clickhouse/rows.ts';
import type { CompiledQuery } from '../platform/clickhouse/sql.ts';
import { killOnAbort, killQuery, type KillQuery } from '../platform/clickhouse/kill-on-abort.ts';
import { limitedClient, limitsOf } from '../platform/clickhouse/limited-client.ts';
import { mergesOf as readMerges, type Merges, type MergesOf } from '../audiences/people-sql.ts';
import { queryLimits } from '../platform/clickhouse/query-limits.ts';
import { onAccount } from '../platform/clickhouse/shards.ts';

/** Sockets and slots of reads that take milliseconds, apart from those of reports. */
const READS = { total: 8, perAccount: 3, waiting: 32 };
const KILL_SOCKETS = 4;
/** Threads that count events, unless the settings say how many. */
const MAX_THREADS = 4;
/** Answers of reports that this process keeps. */
const KEPT: KeptLimits = {
  answer: 512 * 1024,
  perAccount: 4 * 2 ** 20,
  total: 32 * 2 ** 20,
  maxAgeMs: 3_600_000,
};

/** What a query of a job needs; each kind of job has a client of its own. */
export interface JobQuery {
  client: ClickHouseClient;
  limits: () => Promise<ClickHouseSettings>;
  kill: KillQuery;
  mergesOf: MergesOf;
}

export interface Queries extends Pick<
  Services,
  'reports' | 'countAudience' | 'schema' | 'readQuality' | 'mergesOf'
> {
  /** Stats of campaigns. */
  countPeople: CountPeople;
  /** Rows of a read that takes milliseconds. */
  readFew: RunRows;
  /** Rows of a query that takes as long as a report. */
  readMany: RunRows;
  job: Omit<JobQuery, 'client'>;
  close: () => Promise<void>;
}

/** Runs a query in the turn of an account; rejects with the client's error. */
export type RunRows = <Row>(
  query: CompiledQuery,
  turn: { accountId: number; signal: AbortSignal },
) => Promise<Row[]>;

interface Options {
  config: SettingsOf<typeof clickhouseSettings & typeof querySettings>;
  name: string;
  log: Log;
  registry: Registry;
  /** Name of the gauge of running and waiting queries. */
  metric: MetricName;
  /** Queries of jobs that this process may run besides: they share the memory. */
  jobQueries: number;
}

/**
 * The queries of the host. Each kind has sockets of its own, so a cheap read or KILL QUERY never
 * waits behind reports, and accounts take turns. The nth query of an account at a time has priority
 * n in ClickHouse: what one account runs at the same time slows others down like a single query.
 */
export function connectQueries(options: Options): Queries {
  const { config, name, log, registry } = options;
  const settings = {
    ...config,
    CLICKHOUSE_URL: config.CLICKHOUSE_REPORTS_URL || config.CLICKHOUSE_URL,
  };
  const connect = (kind: string, connections: number) =>
    connectClickhouse({ settings, name: `${name}-${kind}`, requestTimeout: 60_000, connections });
  const killer = connect('kill', KILL_SOCKETS);
  const reads = connect('reads', READS.total);
  const reports = connect('reports', config.MAX_QUERIES);

  const kill = killQuery(killer, log);
  const limits = queryLimits({
    ...{ client: reads, log, percent: config.REPORTS_MEMORY_PERCENT },
    queries: config.MAX_QUERIES + options.jobQueries,
    hasOwnUser: config.CLICKHOUSE_REPORTS_URL !== '',
  });
  const limited = (client: ClickHouseClient, priority: number) =>
    killOnAbort(limitedClient(client, { limits, priority }), kill);
  const slots = new AccountSlots({
    total: config.MAX_QUERIES,
    perAccount: config.MAX_QUERIES_PER_ACCOUNT,
    waiting: config.MAX_QUERIES_WAITING,
  });
  const readSlots = new AccountSlots(READS);
  measure(registry, { name: options.metric, slots: { report: slots, read: readSlots } });

  const reading = limited(reads, 1);
  const schema = schemaQueries(reading);
  const readQuality = qualityQuery(reading);
  const merges = readMerges(reading);
  const mergesOf: MergesOf = (accountId, signal) =>
    readSlots.run({ accountId, signal }, () => merges(accountId, signal));
  const byRank = Array.from({ length: config.MAX_QUERIES_PER_ACCOUNT }, (_, at) => {
    const client = limited(reports, at + 1);
    return { countPeople: peopleCounter(client), client };
  });
  const ranked = (rank: number) => {
    const found = byRank[rank - 1];
    if (!found) throw new Error(`no queries of rank ${rank}`);
    return found;
  };

  const readFew: RunRows = (query, turn) =>
    readSlots.run(turn, () =>
      readRows({ client: onAccount(reading, turn.accountId), ...query, signal: turn.signal }),
    );
  const answers = metricsOf(registry).counter(
    'ravand_reports_total',
    'Reports and counts of audiences: computed, kept (an earlier answer that still holds), empty (no event is stored that they need).',
    'answer',
  );
  const cached = cachedRows({
    kept: new KeptAnswers(KEPT, Date.now),
    ...{ readFew, log, now: Date.now },
    onKnown: (answer) => answers.inc({ answer }),
  });
  const large = new LargeReports(Date.now);
  const threads = new ReportThreads({
    clickhouse: settings,
    threads: config.REPORT_THREADS || Math.min(MAX_THREADS, availableParallelism()),
    memoryBytes: eventsMemory({
      setting: config.REPORT_EVENTS_MEMORY,
      ...{ container: process.constrainedMemory(), machine: totalmem() },
    }),
  });
  const counting = {
    ...{ threads, kill, tooLarge: new LargeReports(Date.now) },
    onFailure: (error: unknown) =>
      log.warn(
        { err: error, code: 'report_threads_failed' },
        'the events of a report could not be counted by threads; its statement runs instead',
      ),
  };
  const rowsOf: RowsOf = ({ reads, ...statement }) => {
    const { accountId, signal } = statement;
    const run = async (found?: Merges) => {
      const merges = statement.merges ?? found ?? (await mergesOf(accountId, signal));
      const compiled = statement.compile(merges);
      answers.inc({ answer: 'computed' });
      return slots.run(statement, (rank) =>
        readReport(
          onAccount(ranked(rank).client, accountId),
          { ...statement, merges, compiled },
          {
            large,
            counting: { ...counting, limits: () => limitsOf({ limits, priority: rank }) },
          },
        ),
      );
    };
    // on a cluster each replica has parts of its own
    return reads && config.CLICKHOUSE_CLUSTER === '' ? cached({ ...statement, reads }, run) : run();
  };

  return {
    reports: reportsOver(rowsOf),
    countAudience: audienceCounter({ rowsOf }),
    countPeople: (query) => slots.run(query, (rank) => ranked(rank).countPeople(query)),
    schema: {
      events: (query) => readSlots.run(query, () => schema.events(query)),
      traits: (query) => readSlots.run(query, () => schema.traits(query)),
    },
    readQuality: (query) => readSlots.run(query, () => readQuality(query)),
    mergesOf,
    readFew,
    readMany: (query, turn) =>
      slots.run(turn, (rank) =>
        readRows({
          client: onAccount(ranked(rank).client, turn.accountId),
          ...{ ...query, signal: turn.signal },
        }),
      ),
    job: { limits, kill, mergesOf: merges },
    close: async () => {
      await threads.end();
      await Promise.all([killer, reads, reports].map((client) => client.close()));
    },
  };
}

function measure(
  registry: Registry,
  { name, slots }: { name: MetricName; slots: Readonly<Record<string, AccountSlots>> },
): void {
  metricsOf(registry).collected(
    name,
    'Queries of ClickHouse that run, and that wait for a slot of their account.',
    {
      labels: ['kind', 'state'],
      collect(gauge) {
        for (const [kind, { counts }] of Object.entries(slots)) {
          gauge.set({ kind, state: 'running' }, counts.running);
          gauge.set({ kind, state: 'waiting' }, counts.waiting);
        }
      },
    },
  );
}
