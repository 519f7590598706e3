/** A service-level objective: at most a share of answers, of events or of the time is bad. */
interface Objective {
  /** Part of the names of its series. */
  name: string;
  /** Part of the names of its alerts. */
  alert: string;
  /** Share that is good. */
  target: number;
  /** What is bad, for the alert's text. */
  bad: string;
  /** The share that is bad within a window. */
  share: (window: string) => string;
  /** How many are bad per second; absent where the share is one of the time. */
  badRate?: (window: string) => string;
  /** A rule that `share` reads. */
  base?: { record: string; expr: string };
  severity: Readonly<Record<Speed, Severity>>;
  /** Heading in docs/on-call.md. */
  runbook: string;
}

type Speed = Burn['speed'];
type Severity = 'page' | 'ticket';

/** What brings events: no health checks, preflights, unknown paths or short links. */
const INTAKE = 'path!~"/v1/status|preflight|other|/s/:code"';
const REPORTS = 'route!~"/v1/status|unknown"';
const rate = (series: string, window: string) => `sum(rate(${series}[${window}]))`;
const slow = (metric: string, labels: string, { window, le }: { window: string; le: string }) =>
  `(${rate(`${metric}_count{${labels}}`, window)} - ${rate(`${metric}_bucket{${labels},le=~"${le}"}`, window)})`;

/** The two rates of an objective about answers or events: of bad ones, and of all. */
const shareOf = (badRate: (window: string) => string, totalRate: (window: string) => string) => ({
  badRate,
  share: (window: string) => `${badRate(window)} / ${totalRate(window)}`,
});

/** Seconds after which an event that is not stored yet counts as late. */
const LATE_SECONDS = 60;
/** Readers of what events become; what they miss is in no report. */
const READERS = 'job=~"normaliser|events-sink"';
const PAGED = { fast: 'page', slow: 'page', steady: 'ticket' } as const;
const LESS_URGENT = { fast: 'page', slow: 'ticket', steady: 'ticket' } as const;
const TICKETS = { fast: 'ticket', slow: 'ticket', steady: 'ticket' } as const;

const OBJECTIVES: readonly Objective[] = [
  {
    name: 'intake_errors',
    alert: 'IntakeErrors',
    target: 0.999,
    bad: 'requests to the ingest host were answered 5xx',
    ...shareOf(
      (w) => rate(`ravand_gateway_requests_total{status=~"5..",${INTAKE}}`, w),
      (w) => rate(`ravand_gateway_requests_total{${INTAKE}}`, w),
    ),
    severity: PAGED,
    runbook: 'too-many-requests-fail-or-are-slow',
  },
  {
    name: 'intake_slow',
    alert: 'IntakeLatency',
    target: 0.99,
    bad: 'accepted requests to the ingest host waited longer than 0.5 s for their answer',
    ...shareOf(
      (window) =>
        slow('ravand_gateway_request_seconds', `class="2xx",${INTAKE}`, { window, le: '0.5' }),
      (w) => rate(`ravand_gateway_request_seconds_count{class="2xx",${INTAKE}}`, w),
    ),
    severity: LESS_URGENT,
    runbook: 'too-many-requests-fail-or-are-slow',
  },
  {
    name: 'events_late',
    alert: 'EventsLate',
    target: 0.995,
    bad: `the time an event waited longer than ${LATE_SECONDS} s to be stored`,
    base: {
      record: 'ravand:events_late:bool',
      expr: `max(time() - ravand_settled_until_seconds) > bool ${LATE_SECONDS}`,
    },
    share: (w) => `avg_over_time(ravand:events_late:bool[${w}])`,
    severity: LESS_URGENT,
    runbook: 'events-are-stored-late',
  },
  {
    name: 'events_lost',
    alert: 'EventsLost',
    target: 0.9999,
    bad: 'accepted events became dead letters or left the log unread',
    ...shareOf(
      (w) =>
        `(${rate('ravand_normaliser_events_total{outcome="dead"}', w)} + ${rate('ravand_sink_dead_total', w)} + (${rate(`ravand_consumer_missed_records_total{${READERS}}`, w)} or vector(0)))`,
      (w) => rate('ravand_normaliser_events_total{outcome=~"published|dead"}', w),
    ),
    severity: LESS_URGENT,
    runbook: 'too-many-events-are-lost',
  },
  {
    name: 'report_errors',
    alert: 'ReportErrors',
    target: 0.995,
    bad: 'requests to the management host were answered 5xx',
    ...shareOf(
      (w) => rate(`ravand_management_request_seconds_count{status=~"5..",${REPORTS}}`, w),
      (w) => rate(`ravand_management_request_seconds_count{${REPORTS}}`, w),
    ),
    severity: LESS_URGENT,
    runbook: 'too-many-requests-fail-or-are-slow',
  },
  {
    name: 'report_slow',
    alert: 'ReportLatency',
    target: 0.95,
    bad: 'requests to the management host took longer than 2 s',
    ...shareOf(
      (window) =>
        slow('ravand_management_request_seconds', `status=~"2..",${REPORTS}`, {
          window,
          // Prometheus 3 stores whole bounds as 2.0.
          le: '2|2.0',
        }),
      (w) => rate(`ravand_management_request_seconds_count{status=~"2..",${REPORTS}}`, w),
    ),
    severity: TICKETS,
    runbook: 'too-many-requests-fail-or-are-slow',
  },
  {
    name: 'panel_errors',
    alert: 'PanelErrors',
    target: 0.995,
    bad: 'requests to the control plane were answered 5xx',
    ...shareOf(
      (w) => rate(`ravand_control_request_seconds_count{status=~"5..",${REPORTS}}`, w),
      (w) => rate(`ravand_control_request_seconds_count{${REPORTS}}`, w),
    ),
    severity: TICKETS,
    runbook: 'too-many-requests-fail-or-are-slow',
  },
];

/**
 * A long window is sure, a short one ends the alert soon after the cause. A burn rate of 1 uses the
 * error budget of 30 days in 30 days: 14.4 uses 2 % of it in an hour, 6 uses 5 % in six hours, 1
 * uses 10 % in three days.
 */
const FREQUENT = [
  { speed: 'fast', suffix: 'BurnFast', rate: 14.4, long: '1h', short: '5m' },
  { speed: 'slow', suffix: 'BurnSlow', rate: 6, long: '6h', short: '30m' },
] as const;
const STEADY = { speed: 'steady', suffix: 'BurnSteady', rate: 1, long: '3d', short: '6h' } as const;
type Burn = (typeof FREQUENT)[number] | typeof STEADY;
type Window = Burn['long' | 'short'];

const SECONDS: Readonly<Record<Window, number>> = {
  ...{ '5m': 300, '30m': 1800, '1h': 3600, '6h': 21_600, '3d': 259_200 },
};
/** Bad answers in the long window, and fewer do not alert: a share of few answers says little. */
const MIN_BAD = 10;

/** Of each objective, how fast its error budget is used: by window. */
export function burnRates(): { title: string; queries: Record<string, string> }[] {
  return OBJECTIVES.map(({ name, bad, target }) => ({
    title: `${percent(target)}: at most ${percent(1 - target)} of ${bad}`,
    queries: Object.fromEntries(
      [...FREQUENT, STEADY].map(({ long }) => [
        long,
        `ravand:${name}:ratio_${long} / ${Number((1 - target).toPrecision(6))}`,
      ]),
    ),
  }));
}

/** deploy/alerts/slo.rules.yml */
export function sloRules(): string {
  const lines = [
    '# Written by node deploy/generate/write.ts from deploy/generate/slo-rules.ts: change the objectives there.',
    '# Multi-window burn rates: an alert fires while both windows use the error budget too fast.',
    'groups:',
  ];
  for (const objective of OBJECTIVES) {
    const { name, base, share, badRate } = objective;
    const group = `ravand-slo-${name.replace('_', '-')}`;
    const ratio = (window: Window) => record(`ravand:${name}:ratio_${window}`, share(window));
    const count = (window: Window) =>
      badRate
        ? record(`ravand:${name}:count_${window}`, `${badRate(window)} * ${SECONDS[window]}`)
        : [];
    lines.push(`  - name: ${group}`, '    rules:');
    if (base) lines.push(...record(base.record, base.expr));
    lines.push(...FREQUENT.flatMap(({ short, long }) => [short, long]).flatMap(ratio));
    lines.push(...FREQUENT.flatMap(({ long }) => count(long)));
    for (const burn of FREQUENT) lines.push(...alert(objective, burn));
    // Three days are many samples. A series is forgotten five minutes after its last sample.
    lines.push(`  - name: ${group}-steady`, '    interval: 2m', '    rules:');
    lines.push(...ratio(STEADY.long), ...count(STEADY.long), ...alert(objective, STEADY));
  }
  return `${lines.join('\n')}\n`;
}

function record(name: string, expr: string): string[] {
  return [`      - record: ${name}`, `        expr: ${expr}`];
}

function alert(objective: Objective, burn: Burn): string[] {
  const { name, target, badRate } = objective;
  const threshold = Number((burn.rate * (1 - target)).toPrecision(6));
  const above = (window: string) => `ravand:${name}:ratio_${window} > ${threshold}`;
  const isMany = badRate ? ` and ravand:${name}:count_${burn.long} > ${MIN_BAD}` : '';
  return [
    `      - alert: ${objective.alert}${burn.suffix}`,
    `        expr: ${above(burn.long)} and ${above(burn.short)}${isMany}`,
    `        labels: { severity: ${objective.severity[burn.speed]} }`,
    '        annotations:',
    `          summary: '{{ $value | humanizePercentage }} of ${objective.bad} in the last ${burn.long}: the objective is at most ${percent(1 - target)}'`,
    `          runbook_url: '{{ $externalLabels.runbooks }}/docs/on-call.md#${objective.runbook}'`,
  ];
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(4))} %`;
}
