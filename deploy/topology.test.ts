import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COUNTED_TOPICS } from '../pipeline/metering/counting-task.ts';
import {
  CONSUMER_GROUPS,
  INSTALLED_SERVICES,
  meteringGroup,
  PROJECTIONS,
  SERVICE_NAMES,
  SERVICES,
  TOPICS,
} from '../schemas/topology.ts';
import { DASHBOARDS } from './generate/dashboards.ts';
import { prometheusExample } from './generate/monitoring.ts';
import { observabilityPage } from './generate/observability-page.ts';
import { sloRules } from './generate/slo-rules.ts';

const checkout = join(import.meta.dirname, '..');
const textOf = (path: string) => readFileSync(join(checkout, path), 'utf8');

describe('the topology table', () => {
  it('names each service, topic and group once', () => {
    for (const names of [
      SERVICE_NAMES,
      TOPICS.map(({ topic }) => topic),
      CONSUMER_GROUPS.map(({ group }) => group),
    ])
      expect(new Set(names).size).toBe(names.length);
  });

  it.each(SERVICES)(
    'has main.ts, app.ts and config.ts for $name, which starts by its name',
    (service) => {
      expect(readdirSync(join(checkout, service.folder))).toEqual(
        expect.arrayContaining(['app.ts', 'config.ts', 'main.ts']),
      );
      expect(textOf(`${service.folder}/main.ts`)).toContain(`name: '${service.name}'`);
    },
  );

  it.each(Object.entries(PROJECTIONS))('has a group and a table for projection %s', (_, row) => {
    const { group, topic, service, table } = row;
    expect(CONSUMER_GROUPS).toContainEqual({ group, topic, service });
    const folder = SERVICES.find(({ name }) => name === service)?.folder ?? '';
    const ddl = readdirSync(join(checkout, folder, 'ddl'))
      .map((file) => textOf(`${folder}/ddl/${file}`))
      .find((text) => text.includes(`CREATE TABLE IF NOT EXISTS ${table} (`));
    const days = /^TTL .*INTERVAL (\d+) DAY/m.exec(ddl ?? '')?.[1];
    expect({ table, days: days === undefined ? undefined : Number(days) }).toEqual({
      table: ddl === undefined ? 'no DDL' : table,
      days: row.ttlDays,
    });
  });

  it('has a group of metering for each topic that it counts', () => {
    expect(
      CONSUMER_GROUPS.filter(({ service }) => service === 'metering').map(({ group }) => group),
    ).toEqual(Object.keys(COUNTED_TOPICS).map(meteringGroup));
  });
});

describe('files that name services and groups outside of the code', () => {
  it.each([
    ['deploy/alerts/prometheus.example.yml', prometheusExample],
    ['deploy/alerts/slo.rules.yml', sloRules],
    ['docs/operations/observability.md', observabilityPage],
    ...Object.entries(DASHBOARDS).map(([file, make]) => [`deploy/grafana/${file}`, make] as const),
  ] as const)('include %s, which is what node deploy/generate/write.ts writes', (path, make) => {
    expect(textOf(path)).toBe(make(textOf(path)));
  });

  it('include every metric that the code names', () => {
    const page = textOf('docs/operations/observability.md');
    const files = globSync(
      '{platform,ingest,messaging,account-api,ingest-gateway,pipeline,projections,management-api,control-plane}/**/*.ts',
      { cwd: checkout },
    ).filter((path) => !/\.test\.ts$|\/testing\//.test(path));
    const names = files.flatMap((path) =>
      [...textOf(path).matchAll(/'(ravand_[a-z0-9_]+)'/g)].map(([, name = '']) => name),
    );
    expect(names.length).toBeGreaterThan(100);
    // prom-client's; the page says so.
    const own = names.filter((name) => !name.startsWith('ravand_process_'));
    expect(own.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  });

  it('include no other dashboard, and a place for each consumer group and service', () => {
    const folder = join(checkout, 'deploy/grafana');
    expect(readdirSync(folder).sort()).toEqual(Object.keys(DASHBOARDS).sort());
    const text = Object.values(DASHBOARDS)
      .map((make) => make())
      .join('\n')
      .replaceAll('\\"', '"');
    for (const { service, topic } of CONSUMER_GROUPS)
      expect(text).toContain(`ravand_consumer_lag_seconds{job="${service}",topic="${topic}"}`);
    for (const service of INSTALLED_SERVICES) expect(text).toContain(service);
  });

  it.each(['deploy/alerts/ravand.rules.yml', 'deploy/grafana/ravand.json'])(
    'include %s, which selects only services, groups and topics of the table',
    (path) => {
      const known: Record<string, readonly string[]> = {
        job: SERVICE_NAMES,
        group: CONSUMER_GROUPS.map(({ group }) => group),
        topic: TOPICS.map(({ topic }) => topic),
      };
      for (const [, label = '', value = ''] of textOf(path).matchAll(
        /\b(job|group|topic)=~?\\?"([^"\\]+)\\?"/g,
      ))
        for (const name of value.split('|'))
          if (name !== '$service') expect(known[label]).toContain(name);
    },
  );
});
