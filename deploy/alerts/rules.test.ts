import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRules } from './read-rules.ts';
import { alertScenarios } from './testing/alert-scenarios.ts';
import { runPromtool } from './testing/promtool.ts';
import { counter, gauge, type Labels, type Series } from './testing/series.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const FILES = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.rules.yml'))
  .map((file) => join(import.meta.dirname, file));
const RULES = FILES.flatMap((file) => readRules(readFileSync(file, 'utf8')));
const scenarios = alertScenarios(RULES);

/** What uses an error budget so fast that all its alerts fire: the steady one after three days. */
function usesBudget(title: string, alert: string, series: readonly Series[]): void {
  scenarios.test(`${title}, within hours`, {
    series,
    of: new RegExp(`^${alert}Burn(Fast|Slow)`),
    every: 2,
    firing: [[7 * HOUR, [`${alert}BurnFast`, `${alert}BurnSlow`]]],
  });
  usesBudgetInDays(`${title}, within days`, alert, series);
}

function usesBudgetInDays(title: string, alert: string, series: readonly Series[]): void {
  scenarios.test(title, {
    series,
    of: new RegExp(`^${alert}BurnSteady`),
    every: 20,
    firing: [[3 * DAY, [`${alert}BurnSteady`]]],
  });
}

describe('each rule', () => {
  it('is accepted by Prometheus', async () => {
    const output = await runPromtool(['check', 'rules', ...FILES]);
    const found = [...output.matchAll(/SUCCESS: (\d+) rules found/g)].map(([, count]) =>
      Number(count),
    );
    expect(
      found.reduce((sum, count) => sum + count, 0),
      output,
    ).toBe(RULES.length);
  });

  it('is an alert with a severity and a runbook, or a record', () => {
    expect(RULES.length).toBeGreaterThan(100);
    for (const { alert, record, severity, runbook } of RULES) {
      expect([alert, record].filter(Boolean)).toHaveLength(1);
      if (alert !== undefined) {
        expect(['page', 'ticket'], alert).toContain(severity);
        expect(runbook, alert).toMatch(/#[a-z0-9-]+$/);
      }
    }
    const names = RULES.map(({ alert, record }) => alert ?? record);
    expect(names).toEqual([...new Set(names)]);
  });

  it('that is an alert has an entry in the runbook', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/on-call.md'), 'utf8');
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .trim()
        .replaceAll(' ', '-'),
    );
    for (const { alert, runbook } of RULES) {
      if (alert === undefined) continue;
      const [file, anchor] = runbook.split('#');
      expect(file, alert).toBe('{{ $externalLabels.runbooks }}/docs/on-call.md');
      expect(anchors, alert).toContain(anchor);
    }
  });

  it('reads only records that exist', () => {
    const records = RULES.map(({ record }) => record);
    for (const { expr } of RULES)
      for (const [name] of expr.matchAll(/\bravand:[\w:]+/g)) expect(records).toContain(name);
  });

  it('that is an alert fires in a test below', () => {
    const alerts = RULES.flatMap(({ alert }) => (alert === undefined ? [] : [alert]));
    expect(alerts.filter((alert) => !scenarios.fired.has(alert))).toEqual([]);
  });
});

describe('the error budget of the intake', () => {
  const answers = (good: number, ...bad: (readonly [number, number])[]) => [
    counter('ravand_gateway_requests_total', { path: '/v1/track', status: '200' }, [0, good]),
    counter('ravand_gateway_requests_total', { path: '/v1/batch', status: '503' }, ...bad),
  ];
  const of = /^IntakeErrors/;

  scenarios.test('alerts fast when 2 % of all answers are 5xx for an hour, and ends soon after', {
    series: answers(98, [0, 0], [2 * HOUR, 2], [3 * HOUR, 0]),
    of: /^IntakeErrorsBurnFast/,
    firing: [
      [2 * HOUR, []],
      [3 * HOUR, ['IntakeErrorsBurnFast']],
      [3 * HOUR + 420, []],
    ],
  });

  scenarios.test('alerts within minutes when everything fails', {
    series: answers(98, [0, 0], [2 * HOUR, 98]),
    of: /^IntakeErrorsBurnFast/,
    firing: [[2 * HOUR + 180, ['IntakeErrorsBurnFast']]],
  });

  scenarios.test('alerts slowly when 0.8 % fail for six hours', {
    series: answers(99.2, [0, 0.8]),
    of: /^IntakeErrorsBurn(Fast|Slow)/,
    every: 2,
    firing: [[8 * HOUR, ['IntakeErrorsBurnSlow']]],
  });

  scenarios.test('opens a ticket when 0.2 % fail for days, and not at 0.05 %', {
    series: answers(99.8, [0, 0.2], [4 * DAY, 0.05]),
    of: /^IntakeErrorsBurnSteady/,
    every: 20,
    firing: [
      [3 * DAY, ['IntakeErrorsBurnSteady']],
      [4 * DAY + 8 * HOUR, []],
    ],
  });

  scenarios.test('does not alert for an answer in four of a few', {
    series: answers(3 / HOUR, [0, 1 / HOUR]),
    of,
    every: 2,
    firing: [[8 * HOUR, []]],
  });

  scenarios.test('does not count health checks, preflights, unknown paths and short links', {
    series: [
      ...answers(90, [0, 0]),
      ...['/v1/status', 'other', 'preflight', '/s/:code'].map((path) =>
        counter('ravand_gateway_requests_total', { path, status: '503' }, [0, 9]),
      ),
    ],
    of,
    every: 2,
    firing: [[8 * HOUR, []]],
  });
});

describe('slow answers', () => {
  const answers = (
    metric: string,
    labels: Labels,
    { le, fast, slow }: { le: string; fast: number; slow: number },
  ) => [
    counter(`${metric}_bucket`, { ...labels, le }, [0, fast]),
    counter(`${metric}_bucket`, { ...labels, le: '+Inf' }, [0, fast + slow]),
    counter(`${metric}_count`, labels, [0, fast + slow]),
  ];
  const intake = (slow: number) =>
    answers(
      'ravand_gateway_request_seconds',
      { path: '/v1/track', class: '2xx' },
      { le: '0.5', fast: 100 - slow, slow },
    );

  for (const [share, slow, alerts] of [
    ['half', 50, ['IntakeLatencyBurnFast', 'IntakeLatencyBurnSlow']],
    ['a tenth', 10, ['IntakeLatencyBurnSlow']],
    ['a hundredth', 1, []],
  ] as const)
    scenarios.test(`of the ingest host use its budget: ${share}`, {
      series: intake(slow),
      of: /^IntakeLatencyBurn(Fast|Slow)/,
      every: 2,
      firing: [[8 * HOUR, alerts]],
    });

  usesBudgetInDays(
    'of the ingest host are a ticket when 2 % are slow for days',
    'IntakeLatency',
    intake(2),
  );

  for (const le of ['2', '2.0'])
    scenarios.test(`of reports use their budget, with the bound written as ${le}`, {
      series: answers(
        'ravand_management_request_seconds',
        { route: '/v1/reports/funnel', method: 'POST', status: '200' },
        { le, fast: 5, slow: 5 },
      ),
      of: /^Report.*Burn(Fast|Slow)/,
      every: 2,
      firing: [[8 * HOUR, ['ReportLatencyBurnSlow']]],
    });

  usesBudget(
    'of nearly all reports use the budget',
    'ReportLatency',
    answers(
      'ravand_management_request_seconds',
      { route: '/v1/reports/funnel', method: 'POST', status: '200' },
      { le: '2', fast: 1, slow: 9 },
    ),
  );
});

describe('answers 5xx', () => {
  for (const [host, metric, alert] of [
    ['management host', 'ravand_management_request_seconds_count', 'ReportErrors'],
    ['control plane', 'ravand_control_request_seconds_count', 'PanelErrors'],
  ] as const) {
    const labels = { route: '/v1/reports/funnel', method: 'POST' };
    usesBudget(`of the ${host} use a budget`, alert, [
      counter(metric, { ...labels, status: '200' }, [0, 9]),
      counter(metric, { ...labels, status: '503' }, [0, 1]),
    ]);
  }
});

describe('the freshness of what is stored', () => {
  /** Everything up to two seconds ago is stored, except while it stands still. */
  const storedUntil = (from: number, until: number) =>
    gauge('ravand_settled_until_seconds', { job: 'metering' }, (time) =>
      time > from && time < until ? from - 2 : time - 2,
    );
  const of = /^EventsLateBurn(Fast|Slow)/;

  scenarios.test('alerts fast when events wait for seven minutes, and ends soon after', {
    series: [storedUntil(8 * HOUR, 8 * HOUR + 480)],
    of,
    firing: [
      [8 * HOUR, []],
      [8 * HOUR + 60, []],
      [8 * HOUR + 480, ['EventsLateBurnFast']],
      [8 * HOUR + 900, []],
    ],
  });

  const lateAtTimes = ({ every, standsStill }: { every: number; standsStill: number }) =>
    gauge('ravand_settled_until_seconds', {}, (time) =>
      time % every < standsStill ? time - (time % every) - 2 : time - 2,
    );
  scenarios.test('alerts slowly when a minute of each quarter of an hour is late', {
    series: [lateAtTimes({ every: 900, standsStill: 120 })],
    of,
    firing: [[7 * HOUR, ['EventsLateBurnSlow']]],
  });
  usesBudgetInDays('opens a ticket when some of the time is late for days', 'EventsLate', [
    lateAtTimes({ every: 4 * HOUR, standsStill: HOUR }),
  ]);
});

describe('events that are lost', () => {
  const published = counter('ravand_normaliser_events_total', { outcome: 'published' }, [0, 1000]);
  const deadOf = (perSecond: number) => [
    counter('ravand_normaliser_events_total', { outcome: 'dead' }, [0, perSecond]),
    counter('ravand_sink_dead_total', {}, [0, 0]),
  ];

  usesBudget('use their budget as dead letters: 0.2 % of all', 'EventsLost', [
    published,
    ...deadOf(2),
  ]);

  scenarios.test('use it when they left the log unread, and not by one dead letter an hour', {
    series: [
      published,
      ...deadOf(1 / HOUR),
      counter(
        'ravand_consumer_missed_records_total',
        { job: 'normaliser', topic: 'events.raw', partition: '1' },
        ...([
          [0, 0],
          [8 * HOUR, 100],
        ] as const),
      ),
    ],
    of: /^EventsLostBurn(Fast|Slow)/,
    every: 2,
    firing: [
      [8 * HOUR, []],
      [8 * HOUR + 600, ['EventsLostBurnFast', 'EventsLostBurnSlow']],
    ],
  });
});

describe('storage', () => {
  const GIB = 2 ** 30;
  for (const [state, free, alerts] of [
    ['free', 5, []],
    ['free for less than the spool may still need', 0.8, ['SpoolDiskFillsUp']],
    ['nearly full', 0.05, ['SpoolDiskFillsUp', 'SpoolDiskIsFull']],
  ] as const) {
    const spool = (name: string, value: number) =>
      gauge(`ravand_gateway_${name}`, { instance: 'a', job: 'ingest-gateway' }, value);
    scenarios.test(`of the spool: its disk is ${state}`, {
      series: [
        ...[spool('spool_disk_free_bytes', free * GIB), spool('spool_max_bytes', GIB)],
        spool('spool_bytes', 0.1 * GIB),
      ],
      of: /^SpoolDisk/,
      firing: [[HOUR, alerts]],
    });
  }

  for (const [state, share, alerts] of [
    ['half free', 0.5, []],
    ['15 % free', 0.15, ['ClickHouseDiskFillsUp']],
    ['5 % free', 0.05, ['ClickHouseDiskFillsUp', 'ClickHouseDiskIsFull']],
  ] as const) {
    const disk = (name: string, value: number) => [
      gauge('ravand_clickhouse_disk_free_bytes', { host: 'a', disk: name }, value),
      gauge('ravand_clickhouse_disk_bytes', { host: 'a', disk: name }, 1000),
    ];
    scenarios.test(`of ClickHouse: one of its disks is ${state}`, {
      series: [...disk('default', 1000 * share), ...disk('cold', 900)],
      of: /^ClickHouseDisk/,
      firing: [[HOUR, alerts]],
    });
  }

  for (const [title, perHour, alerts] of [
    ['is full in three days at the rate of six hours', 5, ['ClickHouseDiskIsFullSoon']],
    ['lasts for ten days', 1.5, []],
  ] as const)
    scenarios.test(`of ClickHouse: a disk that is 40 % free ${title}`, {
      series: [
        gauge('ravand_clickhouse_disk_free_bytes', { host: 'a', disk: 'default' }, (time) =>
          Math.round(480 - (perHour * time) / HOUR),
        ),
        gauge('ravand_clickhouse_disk_bytes', { host: 'a', disk: 'default' }, 1000),
      ],
      of: /^ClickHouseDiskIsFullSoon/,
      every: 5,
      firing: [[16 * HOUR, alerts]],
    });

  const host = { host: 'a', instance: 'i' };
  const parts = (value: number) => [
    gauge('ravand_clickhouse_parts', { ...host, table: 'events' }, value),
    gauge('ravand_clickhouse_parts', { ...host, table: 'profiles' }, 3),
    gauge('ravand_clickhouse_parts_delay_above', host, 1000),
  ];
  const held = counter(
    'ravand_clickhouse_held_inserts_total',
    { ...host, outcome: 'delayed' },
    ...([
      [0, 0],
      [HOUR, 0.1],
      [HOUR + 120, 0],
    ] as const),
  );
  for (const [count, alerts] of [
    [400, []],
    [600, ['ClickHouseHasTooManyParts']],
  ] as const)
    scenarios.test(`of ClickHouse: ${count} parts, of 1,000 that delay inserts`, {
      series: [...parts(count), held],
      of: /^ClickHouse(Has|Holds)/,
      firing: [[HOUR, alerts]],
    });

  scenarios.test('of ClickHouse: inserts that parts slow down are a page', {
    series: [...parts(40), held],
    of: /^ClickHouse(Has|Holds)/,
    firing: [
      [HOUR + 300, ['ClickHouseHoldsInserts']],
      [2 * HOUR, []],
    ],
  });
});

describe('a consumer', () => {
  const labels = { job: 'profiles-sink', topic: 'events.normalised', partition: '2' };
  const lag = (value: number) => gauge('ravand_consumer_lag_records', labels, value);
  const records = (...rates: (readonly [number, number])[]) =>
    counter('ravand_consumer_records_total', labels, ...rates);
  const of = /^ConsumerIsStalled/;

  scenarios.test('that processes nothing of what waits for 20 minutes is stalled', {
    series: [lag(7), records([0, 5], [HOUR, 0])],
    of,
    firing: [
      [HOUR + 600, []],
      [HOUR + 1320, ['ConsumerIsStalled']],
    ],
  });

  scenarios.test('that never processed anything of a partition is stalled, too', {
    series: [lag(1)],
    of,
    firing: [[1200, ['ConsumerIsStalled']]],
  });

  scenarios.test('that is slow, or has nothing to do, is not stalled', {
    series: [
      ...[lag(90_000), records([0, 0.01])],
      gauge('ravand_consumer_lag_records', { ...labels, partition: '3' }, 0),
    ],
    of,
    firing: [[2 * HOUR, []]],
  });
});

describe('certificates', () => {
  const of = /^Certificate/;
  const expiring = (setting: string, at: number) =>
    gauge('ravand_tls_certificate_expiry_seconds', { job: 'events-sink', setting }, at);

  for (const [title, at, alerts] of [
    ['expires in a month', 30 * DAY, []],
    ['expires in ten days', 10 * DAY, ['CertificateExpires']],
    ['expires tomorrow', DAY, ['CertificateExpires', 'CertificateExpiresSoon']],
    ['cannot be read', 0, ['CertificateExpires', 'CertificateExpiresSoon']],
  ] as const)
    scenarios.test(`of which one ${title}`, {
      series: [expiring('KAFKA_TLS_CERT_FILE', at), expiring('KAFKA_TLS_CA_FILE', 900 * DAY)],
      of,
      firing: [[HOUR, alerts]],
    });
});

describe('messages', () => {
  const of =
    /^(MessagesHave|OutcomesAre|SendersFail|Emails|ChunksOf|Marketing|CampaignRunsW|Transact)/;
  const stored = (labels: Labels, perSecond: number) =>
    counter('ravand_messages_stored_total', labels, [0, perSecond]);
  const sent = stored({ channel: 'email', status: 'sent', reason: '' }, 1);
  const reports = (kind: string, perSecond: number) =>
    counter('ravand_email_reports_total', { kind }, [0, perSecond]);

  scenarios.test('that are in order alert nobody', {
    series: [
      ...[sent, reports('hard_bounce', 0.04), reports('complaint', 0.0009)],
      stored({ channel: 'email', status: 'failed', reason: 'outcome_unknown' }, 0),
      gauge('ravand_message_balance_gap', { scope: 'run' }, 0),
      gauge('ravand_dispatcher_breakers', { phase: 'closed' }, 5),
      gauge('ravand_dispatcher_breakers', { phase: 'open' }, 0),
      gauge('ravand_message_chunks_due_seconds', {}, 9000),
      counter('ravand_dispatcher_outcomes_total', { channel: 'sms', status: 'sent' }, [0, 0.1]),
      gauge('ravand_message_outbox_age_seconds', {}, 2),
      counter('ravand_dispatcher_consent_waits_total', {}, [0, 0]),
      counter('ravand_planner_runs_total', { outcome: 'missed' }, [0, 0]),
      gauge('ravand_campaign_runs_waiting', { state: 'confirm' }, 0),
      gauge('ravand_campaign_runs_waiting', { state: 'due' }, 3),
      gauge('ravand_transactional_unstored', {}, 0),
    ],
    of,
    every: 5,
    firing: [[3 * HOUR, []]],
  });

  const cases: readonly (readonly [string, readonly Series[], string])[] = [
    [
      'a gap of a run',
      [gauge('ravand_message_balance_gap', { scope: 'run' }, 1)],
      'MessagesHaveAGap',
    ],
    [
      'an unknown outcome',
      [stored({ channel: 'sms', status: 'failed', reason: 'outcome_unknown' }, 0.01)],
      'OutcomesAreUnknown',
    ],
    ['an open breaker', [gauge('ravand_dispatcher_breakers', { phase: 'open' }, 1)], 'SendersFail'],
    [
      'a sender that is refused',
      [gauge('ravand_dispatcher_breakers', { phase: 'half_open' }, 1)],
      'SendersFail',
    ],
    ['six of a hundred e-mails that bounce', [sent, reports('hard_bounce', 0.06)], 'EmailsBounce'],
    [
      'two complaints about a thousand e-mails',
      [sent, reports('complaint', 0.002)],
      'EmailsAreComplainedAbout',
    ],
    [
      'a chunk that waits while nothing is sent',
      [
        gauge('ravand_message_chunks_due_seconds', {}, 901),
        gauge('ravand_dispatcher_breakers', { phase: 'open' }, 0),
        counter('ravand_dispatcher_outcomes_total', { channel: 'sms', status: 'sent' }, [0, 0]),
      ],
      'ChunksOfMessagesWait',
    ],
    [
      'outcomes that stay in PostgreSQL',
      [gauge('ravand_message_outbox_age_seconds', {}, 121)],
      'OutcomesAreNotPublished',
    ],
    [
      'consents that are behind',
      [counter('ravand_dispatcher_consent_waits_total', { instance: 'a' }, [0, 1])],
      'MarketingWaitsForConsents',
    ],
    [
      'a missed run',
      [counter('ravand_planner_runs_total', { outcome: 'missed' }, [0, 0.01])],
      'CampaignRunsWereMissed',
    ],
    [
      'a run that waits for a person',
      [gauge('ravand_campaign_runs_waiting', { state: 'confirm' }, 1)],
      'CampaignRunsWaitForAPerson',
    ],
    [
      'a result that is not stored',
      [gauge('ravand_transactional_unstored', {}, 1)],
      'TransactionalResultsAreNotStored',
    ],
  ];
  for (const [title, series, alert] of cases)
    scenarios.test(`alert for ${title}`, {
      ...{ series, of, every: 5 },
      firing: [[3 * HOUR, [alert]]],
    });

  const few = (metric: string, labels: Labels, count: number) =>
    counter(metric, labels, [0, count / (6 * HOUR)]);
  scenarios.test('do not alert for a bounce among few e-mails', {
    series: [
      few('ravand_messages_stored_total', { channel: 'email', status: 'sent', reason: '' }, 20),
      few('ravand_email_reports_total', { kind: 'hard_bounce' }, 5),
    ],
    of,
    every: 5,
    firing: [[7 * HOUR, []]],
  });
});

describe('an alert of one condition', () => {
  /** Alert, metric, labels, a value that fires it, and one that does not. */
  type Condition = readonly [
    alert: string,
    metric: string,
    labels: Labels,
    wrong: number,
    right: number,
  ];
  const instance = { instance: 'a', job: 'ingest-gateway' };
  const gauges: readonly Condition[] = [
    ['BooksHaveAGap', 'ravand_books_gap', {}, -1, 0],
    ['CommandsAreMissing', 'ravand_channel_commands_missing', instance, 1, 0],
    ['OptOutsWaitInSpools', 'ravand_announced_opt_outs_oldest_seconds', {}, 901, 900],
    ['LogWentBack', 'ravand_log_went_back', { topic: 'events.raw', partition: '0' }, 1, 0],
    ['RecordsOfANewerRelease', 'ravand_consumer_unknown_schema', { partition: '0' }, 1, 0],
    ['SpoolQuarantine', 'ravand_gateway_spool_quarantine_bytes', instance, 1, 0],
    [
      'SpoolDoesNotDrain',
      'ravand_gateway_spool_drain_blocked',
      { reason: 'unknown_version' },
      1,
      0,
    ],
    ['PartitionsAreBlocked', 'ravand_gateway_blocked_partitions', instance, 1, 0],
    ['LogIsUnavailable', 'ravand_gateway_publisher_phase', { ...instance, phase: 'direct' }, 0, 1],
    ['LagGrows', 'ravand_consumer_lag_seconds', { job: 'metering', topic: 'events.raw' }, 61, 60],
    [
      ...(['RetentionHalfUsed', 'ravand_consumer_lag_seconds'] as const),
      { job: 'relays', topic: 'events.normalised' },
      ...([15 * DAY + 1, 15 * DAY] as const),
    ],
    ['RedisIsLost', 'ravand_gateway_claims_available', instance, 0, 1],
    ['RedisIsLost', 'ravand_normaliser_claims_filled', {}, 0, 1],
    ['BreakerIsOpen', 'ravand_normaliser_breaker_open', {}, 1, 0],
    ['BreakerIsOpen', 'ravand_sink_breaker_open', {}, 1, 0],
    ['ProfilesDiffer', 'ravand_profiles_differing', {}, 1, 0],
    ['PartIsDown', 'up', { job: 'relays' }, 0, 1],
    ['PartIsNotReady', 'ravand_ready', { job: 'relays' }, 0, 1],
    ['PartitionsChanged', 'ravand_gateway_layout_mismatch', instance, 1, 0],
    ['GatewayHoldsRecords', 'ravand_gateway_layout_held', instance, 1, 0],
    ['RelaysAreLate', 'ravand_relay_queue_oldest_seconds', {}, 901, 900],
    ['RelayEndpointsFail', 'ravand_relay_breakers', { phase: 'open' }, 1, 0],
    ['RelayQueueFillsPostgres', 'ravand_relay_queue_bytes', {}, 11e9, 9e9],
    ['RetentionIsBehind', 'ravand_retention_days_behind', {}, 3, 2],
    ['OnsiteAudiencesAreOld', 'ravand_onsite_audience_age_seconds', instance, 121, 120],
    ['CampaignRunsAreLate', 'ravand_campaign_runs_late_seconds', {}, 601, 600],
  ];
  for (const [alert, metric, labels, wrong, right] of gauges)
    scenarios.test(`fires when ${metric} is ${wrong} and not when it is ${right}: ${alert}`, {
      series: [gauge(metric, labels, (time) => (time < HOUR ? right : wrong))],
      of: new RegExp(`^${alert}$`),
      firing: [
        [HOUR - 60, []],
        [HOUR + 1200, [alert]],
      ],
    });

  /** Alert, a counter and its labels. */
  const counters: readonly (readonly [alert: string, metric: string, labels: Labels])[] = [
    ['OptOutsRefused', 'ravand_gateway_spooled_opt_outs_total', { outcome: 'unannounced' }],
    ['ClientsGet503', 'ravand_gateway_requests_total', { path: '/v1/track', status: '503' }],
    ['ReportsGet503', 'ravand_management_request_seconds_count', { route: '/r', status: '503' }],
    ['CommitsFail', 'ravand_consumer_commit_failures_total', { job: 'relays' }],
    ['RecordsWereMissed', 'ravand_consumer_missed_records_total', { topic: 'events.raw' }],
    ['MisplacedEvents', 'ravand_profiles_misplaced_total', {}],
    ['TracesAreDropped', 'ravand_trace_spans_dropped_total', { job: 'normaliser' }],
    ['RelayQueueIsFull', 'ravand_relay_given_up_total', { reason: 'queue_full' }],
    ...[
      ...['profiles', 'identities', 'relay', 'channel_commands', 'messages'].map(
        (reader) => `ravand_${reader}_unreadable_total`,
      ),
      ...['ravand_dispatcher_chunks_unreadable_total', 'ravand_outcomes_unreadable_total'],
    ].map((metric) => ['UnreadableRecords', metric, {}] as const),
  ];
  for (const [alert, metric, labels] of counters)
    scenarios.test(`fires while ${metric} rises and not before: ${alert}`, {
      series: [counter(metric, labels, [0, 0], [HOUR, 0.1])],
      of: new RegExp(`^${alert}$`),
      firing: [
        [HOUR, []],
        [HOUR + 1800, [alert]],
      ],
    });
});

describe('an alert of several conditions', () => {
  const instance = { instance: 'a', job: 'ingest-gateway' };

  scenarios.test('SpoolGrows and SpoolNearlyFull fire by the share of the spool that is full', {
    series: [
      gauge('ravand_gateway_spool_bytes', instance, (time) => (time < HOUR ? 10 : 50) + time / 180),
      gauge('ravand_gateway_spool_max_bytes', instance, 100),
    ],
    of: /^Spool(Grows|NearlyFull)$/,
    firing: [
      [0, []],
      [HOUR + 300, ['SpoolGrows']],
      [2 * HOUR, ['SpoolGrows', 'SpoolNearlyFull']],
    ],
  });

  scenarios.test('RecordLimitIsTooLow fires when a topic takes less than a request may become', {
    series: [
      gauge('ravand_gateway_record_limit_bytes', { ...instance, topic: 'events.raw' }, 1000),
      gauge('ravand_gateway_record_limit_bytes', { ...instance, topic: 'events.dead' }, 5000),
      gauge('ravand_gateway_record_needed_bytes', instance, (time) => (time < HOUR ? 1000 : 1001)),
    ],
    of: /^RecordLimitIsTooLow$/,
    firing: [
      [HOUR - 60, []],
      [HOUR, ['RecordLimitIsTooLow']],
    ],
  });

  scenarios.test('StoredIsOld fires when what is stored is five minutes old, for five minutes', {
    series: [
      gauge('ravand_settled_until_seconds', {}, (time) => (time < HOUR ? time - 200 : HOUR - 200)),
    ],
    of: /^StoredIsOld$/,
    firing: [
      [HOUR, []],
      [HOUR + 600, ['StoredIsOld']],
    ],
  });

  scenarios.test('ClickHouseTakesNothing fires when events-sink has lag and stores nothing', {
    series: [
      gauge('ravand_consumer_lag_records', { job: 'events-sink', partition: '0' }, 5),
      counter('ravand_sink_rows_total', {}, [0, 1], [HOUR, 0]),
    ],
    of: /^ClickHouseTakesNothing$/,
    firing: [
      [HOUR, []],
      [HOUR + 600, ['ClickHouseTakesNothing']],
    ],
  });

  for (const from of ['ravand_normaliser_dead_letters_total', 'ravand_sink_dead_total'])
    scenarios.test(`DeadLettersAppear fires when ${from} rises`, {
      series: [
        counter(from, {}, [0, 0], [HOUR, 0.01]),
        counter(
          from.includes('sink') ? 'ravand_normaliser_dead_letters_total' : 'ravand_sink_dead_total',
          ...([{}, [0, 0]] as const),
        ),
      ],
      of: /^DeadLettersAppear$/,
      firing: [
        [HOUR, []],
        [HOUR + 600, ['DeadLettersAppear']],
      ],
    });

  scenarios.test('RecordsWereMissed fires for a counter that appears', {
    series: [
      gauge('ravand_consumer_missed_records_total', { topic: 'events.raw' }, (time) =>
        time < HOUR ? undefined : 3,
      ),
    ],
    of: /^RecordsWereMissed$/,
    firing: [
      [HOUR - 60, []],
      [HOUR, ['RecordsWereMissed']],
    ],
  });

  for (const [retention, alerts] of [
    [0, ['RawLogLosesRecords']],
    [86_400, []],
  ] as const)
    scenarios.test(`RawLogLosesRecords fires only for a log that is kept for ever: ${retention}`, {
      series: [
        gauge('ravand_raw_first_offset', { partition: '1' }, (time) => (time < HOUR ? 0 : 500)),
        gauge('ravand_raw_retention_seconds', {}, retention),
      ],
      of: /^RawLogLosesRecords$/,
      firing: [
        [HOUR - 60, []],
        [HOUR + 300, alerts],
      ],
    });

  scenarios.test('PartRestartsAgainAndAgain fires for four starts in a quarter of an hour', {
    series: [
      gauge('ravand_process_start_time_seconds', { job: 'relays' }, (time) =>
        time < HOUR ? 5 : Math.floor(time / 180) * 180,
      ),
    ],
    of: /^PartRestartsAgainAndAgain$/,
    firing: [
      [HOUR, []],
      [HOUR + 900, ['PartRestartsAgainAndAgain']],
    ],
  });
});
