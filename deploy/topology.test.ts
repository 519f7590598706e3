import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COUNTED_TOPICS } from '../pipeline/metering/counting-task.ts';
import {
  CONSUMER_GROUPS,
  meteringGroup,
  PROJECTIONS,
  SERVICE_NAMES,
  SERVICES,
  TOPICS,
} from '../schemas/topology.ts';
import { dashboard, prometheusExample } from './generate/monitoring.ts';
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
    ['deploy/grafana/ravand.json', dashboard],
  ] as const)('include %s, which is what node deploy/generate/write.ts writes', (path, make) => {
    expect(textOf(path)).toBe(make(textOf(path)));
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
