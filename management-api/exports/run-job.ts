import type { ClickHouseClient } from '@clickhouse/client';
import { randomUUID } from 'node:crypto';
import { Transform, type Readable } from 'node:stream';
import type { ExportFiles } from '../../platform/files/folder-files.ts';
import { readAudience } from '../audiences/read.ts';
import { SqlParams } from '../warehouse/sql.ts';
import { dayOf } from '../conditions/time-zone.ts';
import type { MergesOf } from '../warehouse/people-sql.ts';
import type { SegmentStore } from '../segments/segment-store.ts';
import { compileExport, type ExportPlan } from './compile.ts';
import type { ExportJob } from './export-store.ts';
import { readSpec } from './request.ts';
import type { RowCounter } from './row-counter.ts';

/** The job fails on every retry; the message is for the client. */
export class ExportImpossible extends Error {}

export interface JobTools {
  client: ClickHouseClient;
  files: ExportFiles;
  segments: SegmentStore;
  mergesOf: MergesOf;
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
  /** ms since the epoch */
  now: number;
  signal: AbortSignal;
}

/** Streams a job's file from ClickHouse to the folder, one chunk in memory at a time. */
export async function runJob(
  { job, counter, now, signal }: JobRun,
  { client, files, segments, mergesOf }: JobTools,
): Promise<void> {
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
  const kill = () => {
    client
      .command({
        query: 'KILL QUERY WHERE query_id = {id:String} ASYNC',
        query_params: { id: queryId },
      })
      .catch(() => undefined);
  };
  signal.addEventListener('abort', kill, { once: true });
  try {
    const { stream } = await client.exec({
      query,
      query_id: queryId,
      query_params: params.values(),
      use_multipart_params_auto: true,
      abort_signal: signal,
      clickhouse_settings: {
        output_format_json_quote_64bit_integers: 0,
        date_time_output_format: 'iso',
        format_csv_null_representation: '',
        max_execution_time: 0,
      },
    });
    await files.write(fileName(job), counted(stream, counter), signal);
  } finally {
    signal.removeEventListener('abort', kill);
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

/**
 * An error of the source (ClickHouse breaks the connection when a query fails midway) reaches the
 * writer, so that no truncated file becomes ready.
 */
function counted(source: Readable, counter: RowCounter): Readable {
  const through = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      counter.count(chunk);
      done(null, chunk);
    },
  });
  source.once('error', (error) => through.destroy(error));
  source.once('close', () => {
    if (!source.readableEnded) through.destroy(new Error('the response of ClickHouse ended early'));
  });
  return source.pipe(through);
}
