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
  // The records of a raw batch have the traces of its record of Kafka.
  const sources = new Set(
    records
      .map(({ source }) => source.inBatch?.record ?? source)
      .filter(({ offset }) => offset >= from && offset <= to),
  );
  const traceparents = [...sources].flatMap((source) =>
    spansOf(source).map(({ traceparent }) => traceparent),
  );
  return traceparents.length === 0 ? undefined : traceHeaders(traceparents);
}
