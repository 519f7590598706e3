import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLED_SERVICES, SERVICES } from '../../schemas/topology.ts';
import { readRules } from '../alerts/read-rules.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const textOf = (path: string) => readFileSync(join(CHECKOUT, path), 'utf8');

/** A metric as code registers it. */
export interface DefinedMetric {
  name: string;
  help: string;
  /** The folder of the code: of a service, or one that services share. */
  folder: string;
}

const NAMED =
  /'(ravand_[a-z0-9_]+)'(?: satisfies MetricName)?,\s+(?:help: )?(?:'((?:[^'\\]|\\.)+)'|"([^"]+)")/g;
/** The gateway's readings, without their prefix. */
const READING = /\b(?:gauge|counter)\(\s*'([a-z_]+)',\s*(?:'((?:[^'\\]|\\.)+)'|"([^"]+)")/g;
/** A name that is given to code which several services share. */
const PASSED = /\bmetric: '(ravand_[a-z_]+_queries)'/g;
const QUERIES = 'Queries of ClickHouse that run, and that wait for a slot of their account.';
const GATEWAY_READINGS = 'ingest-gateway/metrics/gauges.ts';

/** Every metric in the code, with its help. Those of the process itself are prom-client's. */
export function definedMetrics(): DefinedMetric[] {
  const files = globSync(
    '{platform,ingest,messaging,account-api,audiences,ingest-gateway,pipeline,projections,management-api,control-plane,ops/operator}/**/*.ts',
    { cwd: CHECKOUT, exclude: (path) => path.includes('node_modules') },
  ).filter((path) => !/\.test\.ts$|\/testing\//.test(path));
  const found = new Map<string, DefinedMetric>();
  for (const path of files.sort()) {
    const text = textOf(path);
    const add = (name: string, help: string) => {
      const folder = folderOf(path);
      found.set(name, { name, help: help.replaceAll("\\'", "'"), folder });
    };
    for (const [, name = '', one, other] of text.replaceAll(/^ *name: /gm, '').matchAll(NAMED))
      add(name, one ?? other ?? '');
    for (const [, name = ''] of text.matchAll(PASSED)) add(name, QUERIES);
    if (path === GATEWAY_READINGS)
      for (const [, name = '', one, other] of text.matchAll(READING))
        add(`ravand_gateway_${name}`, one ?? other ?? '');
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

function folderOf(path: string): string {
  const service = SERVICES.find(({ folder }) => path.startsWith(`${folder}/`));
  return service?.name ?? 'shared';
}

const BEGIN = (part: string) =>
  `<!-- ${part}: written by node deploy/generate/write.ts -->\n<!-- prettier-ignore-start -->\n`;
const END = '\n<!-- prettier-ignore-end -->';

/** docs/operations/observability.md with its tables of metrics, alerts and dashboards. */
export function observabilityPage(current: string): string {
  const parts: Readonly<Record<string, string>> = {
    metrics: metricTables(),
    alerts: alertTable(),
    dashboards: dashboardTable(),
  };
  let page = current;
  for (const [part, table] of Object.entries(parts)) {
    const from = page.indexOf(BEGIN(part));
    const to = page.indexOf(END, from);
    if (from < 0 || to < 0) throw new Error(`docs/operations/observability.md has no ${part}`);
    page = `${page.slice(0, from)}${BEGIN(part)}\n${table}${page.slice(to)}`;
  }
  return page;
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const row = (...cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;

function metricTables(): string {
  const metrics = Map.groupBy(definedMetrics(), ({ folder }) => folder);
  return ['shared', ...INSTALLED_SERVICES]
    .flatMap((folder) => {
      const own = metrics.get(folder);
      if (!own) return [];
      const title = folder === 'shared' ? 'Of several services' : folder;
      const lines = own.map(({ name, help }) => row(`\`${name}\``, help));
      return [`### ${title}`, '', row('Metric', 'What it says'), '| --- | --- |', ...lines, ''];
    })
    .join('\n');
}

function alertTable(): string {
  const rules = readdirSync(join(CHECKOUT, 'deploy/alerts'))
    .filter((file) => file.endsWith('.rules.yml'))
    .flatMap((file) => readRules(textOf(`deploy/alerts/${file}`)));
  const lines = rules.flatMap(({ alert, severity, for: wait, expr, runbook }) => {
    if (alert === undefined) return [];
    const anchor = runbook.split('#')[1] ?? '';
    const link = `[${anchor.replaceAll('-', ' ')}](../on-call.md#${anchor})`;
    return [
      row(`\`${alert}\``, severity, `\`${expr}\`${wait === 0 ? '' : ` for ${wait} s`}`, link),
    ];
  });
  return [
    row('Alert', 'Severity', 'Fires while', 'What to do'),
    '| --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

function dashboardTable(): string {
  const files = readdirSync(join(CHECKOUT, 'deploy/grafana')).sort();
  const lines = files.map((file) => {
    const { title, panels } = JSON.parse(textOf(`deploy/grafana/${file}`)) as {
      title: string;
      panels: { title: string; type: string }[];
    };
    const titles = panels.filter(({ type }) => type !== 'row').map((panel) => panel.title);
    return row(`\`deploy/grafana/${file}\``, title, String(titles.length), titles.join('; '));
  });
  return [
    row('File', 'Title', 'Panels', 'What they show'),
    '| --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}
