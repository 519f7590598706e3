import type { DecodeResult } from '../../events/raw/decode-record.ts';
import { traceHeaders, type RecordHeader } from '../../platform/kafka/record-headers.ts';
import { spansOf } from '../../platform/kafka/traced-task.ts';
import { tracing } from '../../platform/tracing/spans.ts';
import type { BuiltRowBatch } from './row-batch-builder.ts';

/** Headers of a row batch that continue the traces of its raw records; undefined without any. */
export function tracesOf(
  { from, to }: BuiltRowBatch,
  records: readonly DecodeResult[],
): RecordHeader[] | undefined {
  if (!tracing()) return undefined;
  const traceparents = records.flatMap(({ source }) =>
    source.offset < from || source.offset > to
      ? []
      : spansOf(source).map(({ traceparent }) => traceparent),
  );
  return traceparents.length === 0 ? undefined : traceHeaders(traceparents);
}
