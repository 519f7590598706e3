import type { Registry } from 'prom-client';
import { metricsOf } from '../../platform/metrics.ts';
import { MESSAGE_STATUSES } from '../../schemas/records.ts';
import type { MessagesDeps } from './task.ts';

export function messageMetrics(registry: Registry): MessagesDeps['metrics'] {
  const metrics = metricsOf(registry);
  const stored = metrics.counter(
    'ravand_messages_stored_total',
    'Outcomes of messages that were written into ClickHouse, including redeliveries, by status.',
    'status',
  );
  for (const status of MESSAGE_STATUSES) stored.inc({ status }, 0);
  const unreadable = metrics.counter(
    'ravand_messages_unreadable_total',
    'Records of messages.outcomes that cannot be decoded; they are not stored.',
  );
  return {
    stored(rows) {
      for (const { status } of rows) stored.inc({ status });
    },
    unreadable: () => unreadable.inc(),
  };
}
