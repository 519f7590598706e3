import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRules } from './read-rules.ts';
import { Evaluator, type Labels, type Series } from './testing/evaluate-promql.ts';
import { parsePromql } from './testing/parse-promql.ts';

const HOUR = 3600;
const RULES = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.rules.yml'))
  .flatMap((file) => readRules(readFileSync(join(import.meta.dirname, file), 'utf8')));
const RECORDS = new Map(
  RULES.flatMap(({ record, expr }) => (record === undefined ? [] : [[record, parsePromql(expr)]])),
);

/** The alerts that fire at a time, s: their expression had a result since their `for`. */
function firing(series: readonly Series[], time: number, of = /./): string[] {
  const evaluator = new Evaluator(series, RECORDS);
  return RULES.flatMap((rule) => {
    if (rule.alert === undefined || !of.test(rule.alert)) return [];
    const expression = parsePromql(rule.expr);
    for (let at = time - rule.for; at <= time; at += 60)
      if (evaluator.vector(expression, at).length === 0) return [];
    return [rule.alert];
  });
}

const gauge = (metric: string, labels: Labels, value: number): Series => ({
  ...{ metric, labels, at: () => value },
});

/** A counter that grows by so many per second, each rate from a time on, s. */
function counter(
  metric: string,
  labels: Labels,
  ...rates: (readonly [from: number, perSecond: number])[]
): Series {
  const at = (time: number) =>
    rates.reduce((sum, [from, rate], index) => {
      const until = Math.min(time, rates[index + 1]?.[0] ?? Infinity);
      return sum + Math.max(0, until - from) * rate;
    }, 0);
  return { metric, labels, at };
}

describe('each rule', () => {
  it('can be evaluated, and is an alert with a severity and a runbook, or a record', () => {
    expect(RULES.length).toBeGreaterThan(60);
    for (const { alert, record, expr, severity, runbook } of RULES) {
      expect(() => new Evaluator([], RECORDS).vector(parsePromql(expr), HOUR), expr).not.toThrow();
      expect([alert, record].filter(Boolean)).toHaveLength(1);
      if (alert !== undefined) {
        expect(['page', 'ticket'], alert).toContain(severity);
        expect(runbook, alert).toMatch(/#[a-z0-9-]+$/);
      }
    }
    const names = RULES.map(({ alert, record }) => alert ?? record);
    expect(names).toEqual([...new Set(names)]);
  });

  it('reads only records that exist', () => {
    for (const { expr } of RULES)
      for (const [name] of expr.matchAll(/\bravand:[\w:]+/g)) expect(RECORDS.has(name)).toBe(true);
  });
});

describe('the error budget of the intake', () => {
  const answers = (good: number, ...bad: (readonly [number, number])[]) => [
    counter('ravand_gateway_requests_total', { path: '/v1/track', status: '200' }, [0, good]),
    counter('ravand_gateway_requests_total', { path: '/v1/batch', status: '503' }, ...bad),
  ];
  const of = /^IntakeErrors/;

  it('alerts fast when 2 % of all answers are 5xx for an hour, and ends soon after', () => {
    const series = answers(98, [0, 0], [10 * HOUR, 2], [11 * HOUR, 0]);
    expect(firing(series, 10 * HOUR, of)).toEqual([]);
    expect(firing(series, 11 * HOUR, of)).toContain('IntakeErrorsBurnFast');
    expect(firing(series, 11 * HOUR + 360, of)).not.toContain('IntakeErrorsBurnFast');
  });

  it('alerts within minutes when everything fails', () => {
    const series = answers(98, [0, 0], [10 * HOUR, 98]);
    expect(firing(series, 10 * HOUR + 180, of)).toContain('IntakeErrorsBurnFast');
  });

  it('alerts slowly when 0.8 % fail for six hours, and not at 0.05 %', () => {
    expect(firing(answers(99.2, [0, 0.8]), 8 * HOUR, of)).toEqual(['IntakeErrorsBurnSlow']);
    expect(firing(answers(99.95, [0, 0.05]), 8 * HOUR, of)).toEqual([]);
  });

  it('does not alert for an answer in four of a few, nor for health checks and unknown paths', () => {
    expect(firing(answers(3 / HOUR, [0, 1 / HOUR]), 8 * HOUR, of)).toEqual([]);
    const others = ['/v1/status', 'other', 'preflight', '/s/:code'].map((path) =>
      counter('ravand_gateway_requests_total', { path, status: '503' }, [0, 9]),
    );
    expect(firing([...answers(90, [0, 0]), ...others], 8 * HOUR, of)).toEqual([]);
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

  it.each([
    ['half', 50, ['IntakeLatencyBurnFast', 'IntakeLatencyBurnSlow']],
    ['a tenth', 10, ['IntakeLatencyBurnSlow']],
    ['a hundredth', 1, []],
  ])('of the ingest host use its budget: %s', (_, slow, alerts) => {
    const labels = { path: '/v1/track', class: '2xx' };
    const share = { le: '0.5', fast: 100 - slow, slow };
    const series = answers('ravand_gateway_request_seconds', labels, share);
    expect(firing(series, 8 * HOUR, /^IntakeLatency/)).toEqual(alerts);
  });

  it.each(['2', '2.0'])('of reports use their budget, with the bound written as %s', (le) => {
    const labels = { route: '/v1/reports/funnel', method: 'POST', status: '200' };
    const series = answers('ravand_management_request_seconds', labels, { le, fast: 5, slow: 5 });
    expect(firing(series, 8 * HOUR, /^Report/)).toEqual(['ReportLatencyBurnSlow']);
  });

  it('of reports that fail use the other budget', () => {
    const labels = { route: '/v1/reports/funnel', method: 'POST' };
    const count = 'ravand_management_request_seconds_count';
    const series = [
      counter(count, { ...labels, status: '200' }, [0, 9]),
      counter(count, { ...labels, status: '503' }, [0, 1]),
    ];
    expect(firing(series, 8 * HOUR, /^Report(Err|Lat)/)).toEqual([
      'ReportErrorsBurnFast',
      'ReportErrorsBurnSlow',
    ]);
  });
});

describe('storage', () => {
  const GIB = 2 ** 30;
  it.each([
    ['free', 5, []],
    ['free for less than the spool may still need', 0.8, ['SpoolDiskFillsUp']],
    ['nearly full', 0.05, ['SpoolDiskFillsUp', 'SpoolDiskIsFull']],
  ])('of the spool: its disk is %s', (_, free, alerts) => {
    const spool = (name: string, value: number) =>
      gauge(`ravand_gateway_${name}`, { instance: 'a', job: 'ingest-gateway' }, value);
    const series = [
      ...[spool('spool_disk_free_bytes', free * GIB), spool('spool_max_bytes', GIB)],
      spool('spool_bytes', 0.1 * GIB),
    ];
    expect(firing(series, HOUR, /^Spool/)).toEqual(alerts);
  });

  it.each([
    ['half free', 0.5, []],
    ['15 % free', 0.15, ['ClickHouseDiskFillsUp']],
    ['5 % free', 0.05, ['ClickHouseDiskFillsUp', 'ClickHouseDiskIsFull']],
  ])('of ClickHouse: one of its disks is %s', (_, share, alerts) => {
    const disk = (name: string, value: number) => [
      gauge('ravand_clickhouse_disk_free_bytes', { host: 'a', disk: name }, value),
      gauge('ravand_clickhouse_disk_bytes', { host: 'a', disk: name }, 1000),
    ];
    const series = [...disk('default', 1000 * share), ...disk('cold', 900)];
    expect(firing(series, HOUR, /^ClickHouseDisk/)).toEqual(alerts);
  });

  it('of ClickHouse: many parts are a ticket, inserts that they slow down a page', () => {
    const [host, of] = [{ host: 'a', instance: 'i' }, /^ClickHouse(Has|Holds)/];
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
    expect(firing([...parts(400), held], HOUR, of)).toEqual([]);
    expect(firing([...parts(600), held], HOUR, of)).toEqual(['ClickHouseHasTooManyParts']);
    expect(firing([...parts(40), held], HOUR + 300, of)).toEqual(['ClickHouseHoldsInserts']);
    expect(firing([...parts(40), held], 2 * HOUR, of)).toEqual([]);
  });
});

describe('commands of channels', () => {
  it('alert while one that was answered 200 is not in the log', () => {
    const of = /^CommandsAreMissing/;
    const missing = (count: number) => [
      gauge('ravand_channel_commands_missing', { instance: 'a' }, count),
      gauge('ravand_channel_commands_missing', { instance: 'b' }, count),
    ];
    expect(firing(missing(0), HOUR, of)).toEqual([]);
    expect(firing(missing(1), HOUR, of)).toEqual(['CommandsAreMissing']);
  });

  it('alert when a record of them cannot be decoded', () => {
    const series = counter('ravand_channel_commands_unreadable_total', {}, [0, 0], [1800, 0.01]);
    expect(firing([series], HOUR, /^UnreadableRecords/)).toEqual(['UnreadableRecords']);
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

  it('that are in order alert nobody', () => {
    const series = [
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
    ];
    expect(firing(series, 30 * HOUR, of)).toEqual([]);
  });

  it.each<[string, readonly Series[], string]>([
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
  ])('alert for %s', (_, series, alert) => {
    expect(firing(series, 30 * HOUR, of)).toEqual([alert]);
  });

  it('do not alert for a bounce among few e-mails', () => {
    const few = (metric: string, labels: Labels, count: number) =>
      counter(metric, labels, [0, count / (6 * HOUR)]);
    const series = [
      few('ravand_messages_stored_total', { channel: 'email', status: 'sent', reason: '' }, 20),
      few('ravand_email_reports_total', { kind: 'hard_bounce' }, 5),
    ];
    expect(firing(series, 30 * HOUR, of)).toEqual([]);
  });
});
