import type { Registry } from 'prom-client';
import { CHANNELS } from '../../events/channels/channel-change.ts';
import { FAILURE_REASONS, SKIP_REASONS, WITHHELD_REASON } from '../../events/messages/reasons.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { MESSAGE_STATUSES } from '../../schemas/records.ts';
import type { MessagesDeps } from './task.ts';

const KNOWN: ReadonlySet<string> = new Set([
  ...['', WITHHELD_REASON, ...Object.keys(SKIP_REASONS), ...Object.keys(FAILURE_REASONS)],
  ...CHANNELS,
  ...MESSAGE_STATUSES,
]);

export function messageMetrics(registry: Registry): MessagesDeps['metrics'] {
  const metrics = metricsOf(registry);
  const stored = metrics.counter(
    'ravand_messages_stored_total',
    'Outcomes of messages that were written into ClickHouse, including redeliveries, by channel, status and reason.',
    ...['channel', 'status', 'reason'],
  );
  // A counter that appears is no increase: what alerts compare is there from the beginning.
  for (const channel of CHANNELS) {
    stored.inc({ channel, status: 'sent', reason: '' }, 0);
    stored.inc({ channel, status: 'failed', reason: 'outcome_unknown' }, 0);
  }
  const unreadable = metrics.counter(
    'ravand_messages_unreadable_total',
    'Records of messages.outcomes that cannot be decoded; they are not stored.',
  );
  return {
    stored(rows) {
      for (const { channel, status, reason } of rows)
        stored.inc({ channel: label(channel), status: label(status), reason: label(reason) });
    },
    unreadable: () => unreadable.inc(),
  };
}

/** A newer release may have written others: their number is bounded. */
function label(text: string): string {
  return KNOWN.has(text) ? text : 'other';
}
