import type { Registry } from 'prom-client';
import { metricsOf } from '../../../platform/metrics.ts';
import { MESSAGE_STATUSES } from '../../../schemas/records.ts';
import type { MessageBalance, WaitingMessages } from './balance.ts';

const STATUSES = [...MESSAGE_STATUSES, 'planned', 'in_flight'] as const;

export interface RunsMetrics {
  ended: (state: 'finished' | 'cancelled', runs: number) => void;
  plannedAgain: (runs: number) => void;
  measured: (balance: MessageBalance, waiting: WaitingMessages) => void;
}

export function runsMetrics(registry: Registry): RunsMetrics {
  const metrics = metricsOf(registry);
  const runs = metrics.counter(
    'ravand_dispatcher_runs_total',
    'Runs of campaigns: finished, cancelled (everybody has an outcome), planned_again (chunks were missing in the log).',
    'outcome',
  );
  const gap = metrics.gauge(
    'ravand_message_balance_gap',
    'Messages by which planned differs from sent, failed, withheld, skipped and in flight: of runs that send, of accounts, and overall. Not 0: messages are lost or counted twice.',
    'scope',
  );
  const messages = metrics.gauge(
    'ravand_campaign_messages',
    'Messages of campaigns so far: planned, sent, failed, withheld, skipped, in_flight.',
    'status',
  );
  const chunks = metrics.gauge(
    'ravand_message_chunks_due',
    'Chunks of campaigns that may be sent and that nobody has leased; at most 100 of each run are counted.',
  );
  const chunkAge = metrics.gauge(
    'ravand_message_chunks_due_seconds',
    'For how long the chunk has been due that waits longest; 0 without one.',
  );
  const rows = metrics.gauge(
    'ravand_message_outbox_rows',
    'Rows with outcomes of messages that are not in messages.outcomes yet.',
  );
  const rowAge = metrics.gauge(
    'ravand_message_outbox_age_seconds',
    'Age of the oldest of these rows; 0 without one.',
  );
  return {
    ended: (state, count) => runs.inc({ outcome: state }, count),
    plannedAgain: (count) => runs.inc({ outcome: 'planned_again' }, count),
    measured(balance, waiting) {
      const sum = (gaps: readonly { gap: number }[]) => gaps.reduce((all, one) => all + one.gap, 0);
      gap.set({ scope: 'run' }, sum(balance.runs));
      gap.set({ scope: 'account' }, sum(balance.accounts));
      gap.set({ scope: 'overall' }, balance.gap);
      for (const status of STATUSES) messages.set({ status }, balance.totals[status]);
      chunks.set(waiting.due_chunks);
      chunkAge.set(waiting.due_seconds);
      rows.set(waiting.outbox_rows);
      rowAge.set(waiting.outbox_seconds);
    },
  };
}
