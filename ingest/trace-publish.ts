import { traceHeaders } from '../platform/kafka/record-headers.ts';
import type { Span } from '../platform/tracing/spans.ts';
import { TOPIC } from '../schemas/topology.ts';
import type { RawRecordOf } from './raw-records.ts';

/** Begins the span of the publish, and makes it the parent of what becomes of the records. */
export function tracePublish(request: Span, raw: readonly RawRecordOf[]): Span {
  const span = request.child(`publish ${TOPIC.raw}`, 'producer', {
    'messaging.system': 'kafka',
    'messaging.destination.name': TOPIC.raw,
    'messaging.batch.message_count': raw.length,
    'ravand.events': raw.reduce((sum, { record }) => sum + record.events, 0),
  });
  const headers = traceHeaders([span.traceparent]);
  for (const { record } of raw) record.headers = headers;
  return span;
}
