import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { Rule } from '../read-rules.ts';
import { runPromtool } from './promtool.ts';
import type { Series } from './series.ts';
import { valuesOf } from './series.ts';

/** What Prometheus scrapes, and the alerts that then fire. */
export interface Scenario {
  series: readonly Series[];
  /** The alerts that are evaluated: others may fire. */
  of: RegExp;
  /** The alerts that fire, by the time, s. */
  firing: readonly (readonly [time: number, alerts: readonly string[]])[];
  /** Between two scrapes and two evaluations, minutes. */
  every?: number;
}

/** Far above what all of them take: seconds. */
const TIMEOUT_MS = 300_000;

/**
 * Declares tests of alerts. One call of promtool carries out all of them: as unit tests of rules,
 * which Prometheus itself evaluates.
 */
export function alertScenarios(rules: readonly Rule[]) {
  const scenarios: Scenario[] = [];
  let answers: Promise<string[]> | undefined;
  const fired = new Set<string>();
  return {
    test(title: string, scenario: Scenario): void {
      const at = scenarios.push(scenario) - 1;
      for (const [, alerts] of scenario.firing) for (const alert of alerts) fired.add(alert);
      it(title, { timeout: TIMEOUT_MS }, async () => {
        answers ??= carryOut(rules, scenarios);
        expect((await answers)[at]).toMatch(/^\s*SUCCESS\s*$/);
      });
    },
    /** The alerts that fire in some scenario. */
    fired: fired as ReadonlySet<string>,
  };
}

/** What promtool says about each scenario. */
async function carryOut(rules: readonly Rule[], scenarios: readonly Scenario[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  afterAll(() => rm(folder, { recursive: true }));
  const files = await Promise.all(
    scenarios.map(async (scenario, index) => {
      const selected = join(folder, `${index}.rules.json`);
      await writeFile(selected, JSON.stringify(rulesOf(scenario.of, rules)));
      const file = join(folder, `${index}.test.json`);
      await writeFile(file, JSON.stringify(testOf(scenario, selected)));
      return file;
    }),
  );
  const output = await runPromtool(['test', 'rules', ...files]);
  return output.split(/^Unit Testing: .*$/m).slice(1);
}

/** Only what is tested is evaluated, and the records that it reads: each evaluation takes time. */
function rulesOf(of: RegExp, rules: readonly Rule[]) {
  const wanted = new Set(rules.filter(({ alert }) => alert !== undefined && of.test(alert)));
  for (const { expr } of wanted)
    for (const [name] of expr.matchAll(/\bravand:[\w:]+/g)) {
      const record = rules.find((rule) => rule.record === name);
      if (record) wanted.add(record);
    }
  const tested = rules
    .filter((rule) => wanted.has(rule))
    .map(({ alert, record, expr, for: wait }) =>
      record === undefined ? { alert, expr, for: `${wait}s` } : { record, expr },
    );
  return { groups: [{ name: 'tested', rules: tested }] };
}

function testOf({ series, firing, every = 1 }: Scenario, rules: string) {
  const until = Math.max(...firing.map(([time]) => time));
  const interval = `${every}m`;
  return {
    rule_files: [rules],
    evaluation_interval: interval,
    tests: [
      {
        interval,
        input_series: series.map((one) => ({
          series: nameOf(one),
          values: valuesOf(one, { until, step: every * 60 }),
        })),
        promql_expr_test: firing.map(([time, alerts]) => ({
          expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: `${time}s`,
          exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
        })),
      },
    ],
  };
}

function nameOf({ metric, labels }: Series): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${metric}{${pairs.join(',')}}`;
}
