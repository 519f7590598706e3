import { traceHeaders } from '../platform/kafka/record-headers.ts';
import type { Attributes, Span } from '../platform/tracing/spans.ts';
import { TOPIC } from '../schemas/topology.ts';
import type { LogRecord } from './log-record.ts';
import type { RawRecordOf } from './raw-records.ts';

/** Begins the span of the publish, and makes it the parent of what becomes of the records. */
export function tracePublish(request: Span, raw: readonly RawRecordOf[]): Span {
  const records = raw.map(({ record }) => record);
  const events = records.reduce((sum, record) => sum + record.events, 0);
  return publishSpan(request, {
    topic: TOPIC.raw,
    records,
    attributes: { 'ravand.events': events },
  });
}

/** The same for the command of a request. */
export function traceCommand(request: Span, command: LogRecord): Span {
  return publishSpan(request, { topic: command.topic, records: [command], attributes: {} });
}

function publishSpan(
  request: Span,
  of: { topic: string; records: readonly LogRecord[]; attributes: Attributes },
): Span {
  const span = request.child(`publish ${of.topic}`, 'producer', {
    'messaging.system': 'kafka',
    'messaging.destination.name': of.topic,
    'messaging.batch.message_count': of.records.length,
    ...of.attributes,
  });
  const headers = traceHeaders([span.traceparent]);
  for (const record of of.records) record.headers = headers;
  return span;
}
