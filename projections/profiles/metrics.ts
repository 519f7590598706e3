import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface ProfileMetrics {
  /**
   * One fold: events folded, events skipped because a profile included them, profiles loaded and
   * saved, and the duration of each step, ms.
   */
  folded(report: {
    events: number;
    skipped: number;
    loaded: number;
    saved: number;
    loadMs: number;
    foldMs: number;
    saveMs: number;
  }): void;
  unreadable(): void;
  /** Events that came through another partition than earlier ones of their distinct id. */
  misplaced(count: number): void;
  /** Profiles that were replaced because a replay added events below their position. */
  refolded(count: number): void;
}

export function profileMetrics(
  registry: Registry,
  cache: () => { people: number; bytes: number },
): ProfileMetrics {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const events = counter('ravand_profiles_events_total', 'Events folded into profiles.');
  const skipped = counter(
    'ravand_profiles_skipped_total',
    'Events that a profile includes already: repeats after a restart or a replay.',
  );
  const loaded = counter(
    'ravand_profiles_loaded_total',
    'Profiles loaded from ClickHouse because they were not cached.',
  );
  const saved = counter(
    'ravand_profiles_saved_total',
    'Changed profiles that ClickHouse acknowledged.',
  );
  const unreadable = counter(
    'ravand_profiles_unreadable_total',
    'Records of events.normalised that cannot be decoded; events-sink sends them to events.dead.',
  );
  const misplaced = counter(
    'ravand_profiles_misplaced_total',
    'Events in no profile because they came through another partition than earlier ones of their distinct id. Must be 0.',
  );
  const refolded = counter(
    'ravand_profiles_refolded_total',
    'Profiles folded again from the log because a replay added events.',
  );
  const seconds = new Histogram({
    name: 'ravand_profiles_step_seconds',
    help: 'Duration of the steps of one fold.',
    labelNames: ['step'] as const,
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers,
  });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge('ravand_profiles_cached', 'Cached profiles.', () => cache().people);
  gauge(
    'ravand_profiles_cached_bytes',
    'Estimated memory of the cached profiles.',
    () => cache().bytes,
  );
  return {
    folded(report) {
      events.inc(report.events);
      skipped.inc(report.skipped);
      loaded.inc(report.loaded);
      saved.inc(report.saved);
      seconds.observe({ step: 'load' }, report.loadMs / 1000);
      seconds.observe({ step: 'fold' }, report.foldMs / 1000);
      seconds.observe({ step: 'save' }, report.saveMs / 1000);
    },
    unreadable: () => unreadable.inc(),
    misplaced: (count) => misplaced.inc(count),
    refolded: (count) => refolded.inc(count),
  };
}
