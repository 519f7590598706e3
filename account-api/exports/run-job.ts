import { randomUUID } from 'node:crypto';
import type { ExportFiles } from '../../platform/files/folder-files.ts';
import { readAudience } from '../../audiences/read.ts';
import { SqlParams } from '../../platform/clickhouse/sql.ts';
import { dayOf } from '../../audiences/conditions/time-zone.ts';
import type { SegmentStore } from '../segments/segment-store.ts';
import { compileExport, type ExportPlan } from './compile.ts';
import type { ExportJob } from './export-store.ts';
import { readSpec } from './request.ts';
import type { JobQuery } from '../queries.ts';
import { ExportImpossible, limitedFile, type FileLimits } from './file-limits.ts';
import type { RowCounter } from './row-counter.ts';
import { onAccount } from '../../platform/clickhouse/shards.ts';

export { ExportImpossible };

export interface JobTools extends JobQuery {
  files: ExportFiles;
  fileLimits: FileLimits;
  segments: SegmentStore;
  /** Longest run of a job, ms. */
  maxRunMs: number;
}

export function fileName({
  id,
  attempt,
  format,
}: Pick<ExportJob, 'id' | 'attempt' | 'format'>): string {
  return `export-${id}-${attempt}.${format}`;
}

export interface JobRun {
  job: ExportJob;
  counter: RowCounter;
  /** Bytes of the other files of the account. */
  storedBytes: number;
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}

/** An export gets a share of ClickHouse's threads and yields to every report. */
const THREADS = 2;
const PRIORITY = '1000';
/** How long a block of an export waits for reports, ms; then it is read all the same. */
const YIELD_MS = '100';

/** Streams a job's file from ClickHouse to the folder, one chunk in memory at a time. */
export async function runJob(run: JobRun, tools: JobTools): Promise<void> {
  const late = AbortSignal.timeout(tools.maxRunMs);
  try {
    await writeFile({ ...run, signal: AbortSignal.any([run.signal, late]) }, tools);
  } catch (error) {
    if (!late.aborted || run.signal.aborted) throw error;
    const message = `the export took longer than ${tools.maxRunMs / 1000} s; export a shorter range`;
    throw new ExportImpossible(message, { cause: error });
  }
}

async function writeFile(run: JobRun, tools: JobTools): Promise<void> {
  const { job, counter, storedBytes, now, signal } = run;
  const { client, files, fileLimits, segments, mergesOf, limits, kill, maxRunMs } = tools;
  const params = new SqlParams();
  const plan = await planOf(job, segments);
  const merges = await mergesOf(job.accountId, signal);
  const query = compileExport(plan, {
    accountId: job.accountId,
    now,
    today: dayOf(now, 'Asia/Tehran'),
    merges,
    params,
  });
  const queryId = randomUUID();
  try {
    const { stream } = await onAccount(client, job.accountId).exec({
      query,
      query_id: queryId,
      query_params: params.values(),
      use_multipart_params_auto: true,
      abort_signal: signal,
      clickhouse_settings: {
        output_format_json_quote_64bit_integers: 0,
        date_time_output_format: 'iso',
        format_csv_null_representation: '',
        max_execution_time: Math.ceil(maxRunMs / 1000),
        max_threads: THREADS,
        priority: PRIORITY,
        low_priority_query_wait_time_ms: YIELD_MS,
        ...(await limits()),
      },
    });
    const content = limitedFile(stream, { ...fileLimits, files, counter, storedBytes });
    await files.write(fileName(job), content, signal);
  } catch (error) {
    kill(queryId);
    throw error;
  }
}

async function planOf(
  { kind, format, spec: sent, accountId }: ExportJob,
  segments: SegmentStore,
): Promise<ExportPlan> {
  const spec = readSpec(kind, sent);
  if (typeof spec === 'string') throw new ExportImpossible(spec);
  if (spec.segmentId === undefined) return { kind, format, spec };
  const segment = await segments.find(accountId, spec.segmentId);
  if (!segment) throw new ExportImpossible('the segment does not exist any more');
  const outcome = readAudience(segment.definition);
  if (!outcome.ok) throw new ExportImpossible(outcome.message);
  return { kind, format, spec, audience: outcome.audience.root };
}
