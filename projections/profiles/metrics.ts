import type { Registry } from 'prom-client';
import { metricsOf } from '../../platform/metrics.ts';

export interface ProfileMetrics {
  /**
   * One fold: events folded, events skipped because a profile included them, profiles loaded and
   * saved, traits dropped, and the duration of each step, ms.
   */
  folded(report: {
    events: number;
    skipped: number;
    loaded: number;
    saved: number;
    droppedTraits: number;
    loadMs: number;
    foldMs: number;
    saveMs: number;
  }): void;
  unreadable(): void;
  /** Events that came through another partition than earlier ones of their distinct id. */
  misplaced(count: number): void;
}

export function profileMetrics(
  registry: Registry,
  cache: () => { people: number; bytes: number },
): ProfileMetrics {
  const metrics = metricsOf(registry);
  const events = metrics.counter('ravand_profiles_events_total', 'Events folded into profiles.');
  const skipped = metrics.counter(
    'ravand_profiles_skipped_total',
    'Events that a profile includes already: repeats after a restart or a replay.',
  );
  const loaded = metrics.counter(
    'ravand_profiles_loaded_total',
    'Profiles loaded from ClickHouse because they were not cached.',
  );
  const saved = metrics.counter(
    'ravand_profiles_saved_total',
    'Changed profiles that ClickHouse acknowledged.',
  );
  const droppedTraits = metrics.counter(
    'ravand_profiles_traits_dropped_total',
    'Traits dropped because their profile has as many traits, or bytes of them, as it may.',
  );
  const unreadable = metrics.counter(
    'ravand_profiles_unreadable_total',
    'Records of events.normalised that cannot be decoded; events-sink sends them to events.dead.',
  );
  const misplaced = metrics.counter(
    'ravand_profiles_misplaced_total',
    'Events in no profile because they came through another partition than earlier ones of their distinct id. Must be 0.',
  );
  const seconds = metrics.histogram(
    'ravand_profiles_step_seconds',
    'Duration of the steps of one fold.',
    { buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30], labels: ['step'] },
  );
  metrics.collected('ravand_profiles_cached', 'Cached profiles.', {
    collect: (gauge) => gauge.set(cache().people),
  });
  metrics.collected('ravand_profiles_cached_bytes', 'Estimated memory of the cached profiles.', {
    collect: (gauge) => gauge.set(cache().bytes),
  });
  return {
    folded(report) {
      events.inc(report.events);
      skipped.inc(report.skipped);
      loaded.inc(report.loaded);
      saved.inc(report.saved);
      droppedTraits.inc(report.droppedTraits);
      seconds.observe({ step: 'load' }, report.loadMs / 1000);
      seconds.observe({ step: 'fold' }, report.foldMs / 1000);
      seconds.observe({ step: 'save' }, report.saveMs / 1000);
    },
    unreadable: () => unreadable.inc(),
    misplaced: (count) => misplaced.inc(count),
  };
}
