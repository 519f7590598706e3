import { ended } from '../tracing/ended.ts';
import { tracing, type Attributes, type Span } from '../tracing/spans.ts';
import type { ConsumedMessage, PartitionTask } from './consumer-types.ts';
import { traceparentsOf } from './record-headers.ts';

/** A hostile or broken producer cannot make one record cost more spans. */
const MAX_SPANS_PER_RECORD = 32;

const spans = new WeakMap<object, readonly Span[]>();

/** The spans of the record that is being processed: one for each trace that goes through it. */
export function spansOf(record: object): readonly Span[] {
  return spans.get(record) ?? NONE;
}

const NONE: readonly Span[] = [];

/** The task with a span for each sampled record that it processes; itself while traces are off. */
export function traced(
  task: PartitionTask,
  { group, topic, partition }: { group: string; topic: string; partition: number },
): PartitionTask {
  const traces = tracing();
  if (!traces) return task;
  const process = task.process.bind(task);
  task.process = async (messages) => {
    const begun = messages.flatMap((message) => {
      if (!message.headers) return [];
      const own = traceparentsOf(message.headers)
        .slice(0, MAX_SPANS_PER_RECORD)
        .flatMap(
          (traceparent) =>
            traces.continued(traceparent, `${group} process`, {
              ...{ 'messaging.system': 'kafka', 'messaging.destination.name': topic },
              ...{ 'messaging.consumer.group.name': group },
              'messaging.destination.partition.id': String(partition),
              'messaging.kafka.offset': message.offset,
              'ravand.waited_ms': waited(message),
            }) ?? [],
        );
      if (own.length > 0) spans.set(message, own);
      return own;
    });
    return await ended(begun, () => process(messages));
  };
  return task;
}

function waited({ timestamp }: ConsumedMessage): number {
  return Math.max(0, Date.now() - timestamp);
}

/** Begins a step in each trace that goes through the records, and ends it with the work. */
export async function tracedStep<T>(
  records: Iterable<object>,
  step: { name: string; attributes: () => Attributes },
  work: () => Promise<T>,
): Promise<T> {
  if (!tracing()) return work();
  const attributes = step.attributes();
  const begun = [...records].flatMap((record) =>
    spansOf(record).map((span) => span.child(step.name, 'client', attributes)),
  );
  return ended(begun, work);
}
