import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { metricsIn } from '../../deploy/alerts/promql.ts';
import { readRules } from '../../deploy/alerts/read-rules.ts';
import { ravand, type ServiceStatus } from '../support/stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const ALERTS = join(CHECKOUT, 'deploy/alerts');
const GRAFANA = join(CHECKOUT, 'deploy/grafana');
const rules = readdirSync(ALERTS)
  .filter((file) => file.endsWith('.rules.yml'))
  .flatMap((file) => readRules(readFileSync(join(ALERTS, file), 'utf8')));
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
    const madeByPrometheus = ['up', ...rules.map(({ record }) => record)];
    const wanted = [
      ...boards.map(({ title, expr }) => ({ where: title, expr })),
      ...rules.map(({ alert, record, expr }) => ({ where: alert ?? record, expr })),
    ];
    expect(wanted.length).toBeGreaterThan(40);
    const missing = wanted.flatMap(({ where, expr }) => {
      const used = metricsIn(expr);
      if (used.length === 0) return [`${where}: no metric in ${expr}`];
      return used
        .filter((name) => !names.has(name) && !madeByPrometheus.includes(name))
        .map((name) => `${where}: ${name}`);
    });
    expect(missing).toEqual([]);
  });

  it('begins the name of every metric with ravand_', async () => {
    const names = (
      await Promise.all((await parts()).map(({ admin_url: url }) => exposed(url)))
    ).flat();
    expect(names.length).toBeGreaterThan(300);
    expect(names.filter((name) => !name.startsWith('ravand_'))).toEqual([]);
  });

  it('covers process and readiness of every service, with /healthz and /readyz', async () => {
    const all = await parts();
    expect(all.length).toBeGreaterThan(8);
    for (const { name, admin_url: url } of all) {
      expect(await exposed(url), name).toEqual(
        expect.arrayContaining(['ravand_process_start_time_seconds', 'ravand_ready']),
      );
      const [health, ready] = await Promise.all([fetch(`${url}/healthz`), fetch(`${url}/readyz`)]);
      expect([health.status, ready.status], name).toEqual([200, 200]);
    }
  });

  it('shows the space of the disks that can run full, and the parts of ClickHouse', async () => {
    const values = async (service: string, metric: string) => {
      const part = (await parts()).find(({ name }) => name === service);
      const text = await (
        await fetch(`${part?.admin_url ?? ''}/metrics`, { signal: AbortSignal.timeout(10_000) })
      ).text();
      return [...text.matchAll(new RegExp(`^${metric}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(
        ([, value]) => Number(value),
      );
    };
    const above = (least: number) => expect.toSatisfy((value: number) => value > least) as number;
    expect(await values('ingest-gateway', 'ravand_gateway_spool_disk_free_bytes')).toEqual([
      above(0),
    ]);
    const clickhouse = (metric: string) => values('retention', `ravand_clickhouse_${metric}`);
    const [free = 0] = await clickhouse('disk_free_bytes');
    expect(free).toBeGreaterThan(0);
    expect(await clickhouse('disk_bytes')).toContainEqual(above(free));
    expect(await clickhouse('parts')).toContainEqual(above(0));
    expect(await clickhouse('parts_delay_above')).toEqual([above(10)]);
  });
});
