import type { Registry } from 'prom-client';
import { metricsOf } from '../../../platform/metrics.ts';
import { MESSAGE_STATUSES } from '../../../schemas/records.ts';

export interface OutboxMetrics {
  /** The statuses of outcomes that are durable in Kafka. */
  published: (statuses: readonly string[]) => void;
  unreadable: (outcomes: number) => void;
}

export function outboxMetrics(registry: Registry): OutboxMetrics {
  const metrics = metricsOf(registry);
  const published = metrics.counter(
    'ravand_outcomes_published_total',
    'Outcomes of messages that are durable in messages.outcomes, repeated ones too, by status.',
    'status',
  );
  for (const status of MESSAGE_STATUSES) published.inc({ status }, 0);
  const unreadable = metrics.counter(
    'ravand_outcomes_unreadable_total',
    'Reads of outcomes in message_outbox that this release cannot decode; they stay there and are tried again.',
  );
  return {
    published(statuses) {
      for (const [status, some] of Map.groupBy(statuses, (status) => status))
        published.inc({ status }, some.length);
    },
    unreadable: (outcomes) => unreadable.inc(outcomes),
  };
}
