import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { metricsIn } from '../../deploy/alerts/promql.ts';
import { ravand, type ServiceStatus } from '../support/stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
/** Prometheus makes these itself. */
const OF_PROMETHEUS = ['up'];

interface Rule {
  alert: string;
  expr: string;
  runbook: string;
}

/** The rules of a file, which writes each expression and each link on one line. */
function rulesOf(text: string): Rule[] {
  return text
    .split(/^ *- alert: /m)
    .slice(1)
    .map((block) => ({
      alert: /^\w+/.exec(block)?.[0] ?? '',
      expr: /^ *expr: (.+)$/m.exec(block)?.[1] ?? '',
      runbook: /^ *runbook_url: '(.+)'$/m.exec(block)?.[1] ?? '',
    }));
}

const ALERTS = join(CHECKOUT, 'deploy/alerts');
const GRAFANA = join(CHECKOUT, 'deploy/grafana');
const rules = readdirSync(ALERTS)
  .filter((file) => file.endsWith('.rules.yml'))
  .flatMap((file) => rulesOf(readFileSync(join(ALERTS, file), 'utf8')));
const boards = readdirSync(GRAFANA).flatMap((file) => {
  const { panels } = JSON.parse(readFileSync(join(GRAFANA, file), 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  return panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
});

/** Names that a part exposes: histograms under the names that are asked for. */
async function exposed(adminUrl: string): Promise<string[]> {
  const text = await (
    await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(10_000) })
  ).text();
  return [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = '', kind]) =>
    kind === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}

async function parts(): Promise<(ServiceStatus & { admin_url: string })[]> {
  const { parts } = JSON.parse(await ravand('status', '--json')) as { parts: ServiceStatus[] };
  return parts.filter((part) => part.admin_url !== null) as (ServiceStatus & {
    admin_url: string;
  })[];
}

describe('monitoring', () => {
  it('uses only metrics in dashboards and rules that some service exposes', async () => {
    const names = new Set(
      (await Promise.all((await parts()).map(({ admin_url: url }) => exposed(url)))).flat(),
    );
    const wanted = [
      ...boards.map(({ title, expr }) => ({ where: title, expr })),
      ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
    ];
    expect(wanted.length).toBeGreaterThan(40);
    const missing = wanted.flatMap(({ where, expr }) => {
      const used = metricsIn(expr);
      if (used.length === 0) return [`${where}: no metric in ${expr}`];
      return used
        .filter((name) => !names.has(name) && !OF_PROMETHEUS.includes(name))
        .map((name) => `${where}: ${name}`);
    });
    expect(missing).toEqual([]);
  });

  it('covers process and readiness of every service, with /healthz and /readyz', async () => {
    const all = await parts();
    expect(all.length).toBeGreaterThan(8);
    for (const { name, admin_url: url } of all) {
      expect(await exposed(url), name).toEqual(
        expect.arrayContaining(['process_start_time_seconds', 'ravand_ready']),
      );
      const [health, ready] = await Promise.all([fetch(`${url}/healthz`), fetch(`${url}/readyz`)]);
      expect([health.status, ready.status], name).toEqual([200, 200]);
    }
  });

  it('links every rule to an existing runbook', () => {
    const page = readFileSync(join(CHECKOUT, 'docs/on-call.md'), 'utf8');
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .trim()
        .replaceAll(' ', '-'),
    );
    expect(rules.length).toBeGreaterThan(15);
    for (const { alert, runbook } of rules) {
      const [file, anchor] = runbook.split('#');
      expect(file, alert).toBe('{{ $externalLabels.runbooks }}/docs/on-call.md');
      expect(anchors, alert).toContain(anchor);
    }
  });
});
