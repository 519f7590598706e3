import type { Registry } from 'prom-client';
import type { BreakerPhase } from '../../platform/breaker.ts';
import { metricsOf } from '../../platform/metrics.ts';
import type { SenderAnswer } from './senders/sender-gate.ts';
import type { OutcomeCount } from './store/chunk-row.ts';

export interface DispatcherMetrics {
  /** A call of a provider was answered. */
  answered: (call: { channel: string; answer: SenderAnswer['kind']; ms: number }) => void;
  /** Outcomes that are durable. */
  finished: (channel: string, counts: readonly OutcomeCount[]) => void;
  /** Recipients could not be looked up. */
  unprepared: () => void;
  chunkEnded: (how: 'done' | 'released' | 'lost' | 'error') => void;
}

/** Metrics of sending; gauges are read through `probe` when they are scraped. */
export function dispatcherMetrics(
  registry: Registry,
  probe: { phases: () => Iterable<BreakerPhase>; openCalls: () => number; chunks: () => number },
): DispatcherMetrics {
  const metrics = metricsOf(registry);
  const calls = metrics.histogram(
    'ravand_dispatcher_call_seconds',
    'Calls of providers by channel and answer: working (taken, or refused for good), failing (tried again later), broken (somebody must act).',
    {
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      labels: ['channel', 'answer'],
    },
  );
  const outcomes = metrics.counter(
    'ravand_dispatcher_outcomes_total',
    'Recipients of campaigns with an outcome, by channel: sent, failed, withheld, skipped.',
    ...['channel', 'status'],
  );
  const unprepared = metrics.counter(
    'ravand_dispatcher_lookups_failed_total',
    'Look-ups of recipients that failed; they are tried again.',
  );
  const leases = metrics.counter(
    'ravand_dispatcher_leases_total',
    'Leases of chunks by how they ended: done, released (its recipients wait, or others had their turn), lost (another process has it), error (the lease runs out).',
    'end',
  );
  metrics.collected(
    'ravand_dispatcher_breakers',
    'Senders by the phase of their circuit breaker.',
    {
      labels: ['phase'],
      collect(gauge) {
        const counts: Record<BreakerPhase, number> = { closed: 0, open: 0, half_open: 0 };
        for (const phase of probe.phases()) counts[phase]++;
        for (const [phase, count] of Object.entries(counts)) gauge.set({ phase }, count);
      },
    },
  );
  metrics.collected('ravand_dispatcher_open_calls', 'Calls of providers that are open.', {
    collect: (gauge) => gauge.set(probe.openCalls()),
  });
  metrics.collected('ravand_dispatcher_leased_chunks', 'Chunks that this process sends.', {
    collect: (gauge) => gauge.set(probe.chunks()),
  });
  for (const end of ['done', 'released', 'lost', 'error'] as const) leases.inc({ end }, 0);
  return {
    answered: ({ channel, answer, ms }) => calls.observe({ channel, answer }, ms / 1000),
    finished(channel, counts) {
      for (const { status, messages } of counts) outcomes.inc({ channel, status }, messages);
    },
    unprepared: () => unprepared.inc(),
    chunkEnded: (end) => leases.inc({ end }),
  };
}
