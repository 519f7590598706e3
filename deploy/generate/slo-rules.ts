/** A service-level objective: at most a share of answers is bad. */
interface Objective {
  /** Part of the names of its series. */
  name: string;
  /** Part of the names of its alerts. */
  alert: string;
  /** Share of the answers that is good. */
  target: number;
  /** What is bad, for the alert's text. */
  bad: string;
  /** Rates over a window: of bad answers, and of all. */
  badRate: (window: string) => string;
  totalRate: (window: string) => string;
  severity: { fast: Severity; slow: Severity };
  /** Heading in docs/on-call.md. */
  runbook: string;
}

type Severity = 'page' | 'ticket';

/** What brings events: no health checks, preflights, unknown paths or short links. */
const INTAKE = 'path!~"/v1/status|preflight|other|/s/:code"';
const REPORTS = 'route!~"/v1/status|unknown"';
const rate = (series: string, window: string) => `sum(rate(${series}[${window}]))`;
const slow = (metric: string, labels: string, { window, le }: { window: string; le: string }) =>
  `(${rate(`${metric}_count{${labels}}`, window)} - ${rate(`${metric}_bucket{${labels},le=~"${le}"}`, window)})`;

const OBJECTIVES: readonly Objective[] = [
  {
    name: 'intake_errors',
    alert: 'IntakeErrors',
    target: 0.999,
    bad: 'requests to the ingest host were answered 5xx',
    badRate: (w) => rate(`ravand_gateway_requests_total{status=~"5..",${INTAKE}}`, w),
    totalRate: (w) => rate(`ravand_gateway_requests_total{${INTAKE}}`, w),
    severity: { fast: 'page', slow: 'page' },
    runbook: 'too-many-requests-fail-or-are-slow',
  },
  {
    name: 'intake_slow',
    alert: 'IntakeLatency',
    target: 0.99,
    bad: 'accepted requests to the ingest host waited longer than 0.5 s for their answer',
    badRate: (window) =>
      slow('ravand_gateway_request_seconds', `class="2xx",${INTAKE}`, { window, le: '0.5' }),
    totalRate: (w) => rate(`ravand_gateway_request_seconds_count{class="2xx",${INTAKE}}`, w),
    severity: { fast: 'page', slow: 'ticket' },
    runbook: 'too-many-requests-fail-or-are-slow',
  },
  {
    name: 'report_errors',
    alert: 'ReportErrors',
    target: 0.995,
    bad: 'requests to the management host were answered 5xx',
    badRate: (w) => rate(`ravand_management_request_seconds_count{status=~"5..",${REPORTS}}`, w),
    totalRate: (w) => rate(`ravand_management_request_seconds_count{${REPORTS}}`, w),
    severity: { fast: 'page', slow: 'ticket' },
    runbook: 'too-many-requests-fail-or-are-slow',
  },
  {
    name: 'report_slow',
    alert: 'ReportLatency',
    target: 0.95,
    bad: 'requests to the management host took longer than 2 s',
    badRate: (window) =>
      slow('ravand_management_request_seconds', `status=~"2..",${REPORTS}`, {
        window,
        // Prometheus 3 stores whole bounds as 2.0.
        le: '2|2.0',
      }),
    totalRate: (w) => rate(`ravand_management_request_seconds_count{status=~"2..",${REPORTS}}`, w),
    severity: { fast: 'ticket', slow: 'ticket' },
    runbook: 'too-many-requests-fail-or-are-slow',
  },
];

/**
 * A long window is sure, a short one ends the alert soon after the cause. A burn rate of 1 uses the
 * error budget of 30 days in 30 days: 14.4 uses 2 % of it in an hour, 6 uses 5 % in six hours.
 */
const BURNS = [
  { speed: 'fast', suffix: 'BurnFast', rate: 14.4, long: '1h', short: '5m' },
  { speed: 'slow', suffix: 'BurnSlow', rate: 6, long: '6h', short: '30m' },
] as const;
/** Bad answers in the long window, and fewer do not alert: a share of few answers says little. */
const MIN_BAD = 10;

/** deploy/alerts/slo.rules.yml */
export function sloRules(): string {
  const lines = [
    '# Written by node deploy/generate/write.ts from deploy/generate/slo-rules.ts: change the objectives there.',
    '# Multi-window burn rates: an alert fires while both windows use the error budget too fast.',
    'groups:',
  ];
  for (const objective of OBJECTIVES) {
    lines.push(`  - name: ravand-slo-${objective.name.replace('_', '-')}`, '    rules:');
    for (const window of BURNS.flatMap(({ long, short }) => [short, long]))
      lines.push(...record(objective, window));
    for (const burn of BURNS) lines.push(...alert(objective, burn));
  }
  return `${lines.join('\n')}\n`;
}

function record({ name, badRate, totalRate }: Objective, window: string): string[] {
  const bad = badRate(window);
  return [
    `      - record: ravand:${name}:ratio_${window}`,
    `        expr: ${bad} / ${totalRate(window)}`,
    ...(BURNS.some(({ long }) => long === window)
      ? [
          `      - record: ravand:${name}:count_${window}`,
          `        expr: ${bad} * ${SECONDS[window] ?? ''}`,
        ]
      : []),
  ];
}

const SECONDS: Readonly<Record<string, number>> = { '1h': 3600, '6h': 21_600 };

function alert(objective: Objective, burn: (typeof BURNS)[number]): string[] {
  const { name, target } = objective;
  const threshold = Number((burn.rate * (1 - target)).toPrecision(6));
  const above = (window: string) => `ravand:${name}:ratio_${window} > ${threshold}`;
  return [
    `      - alert: ${objective.alert}${burn.suffix}`,
    `        expr: ${above(burn.long)} and ${above(burn.short)} and ravand:${name}:count_${burn.long} > ${MIN_BAD}`,
    `        labels: { severity: ${objective.severity[burn.speed]} }`,
    '        annotations:',
    `          summary: '{{ $value | humanizePercentage }} of ${objective.bad} in the last ${burn.long}: the objective is at most ${percent(1 - target)}'`,
    `          runbook_url: '{{ $externalLabels.runbooks }}/docs/on-call.md#${objective.runbook}'`,
  ];
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(4))} %`;
}
