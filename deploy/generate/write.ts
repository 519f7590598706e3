import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allSettings } from './all-settings.ts';
import { chartServices, composeFile } from './deployment.ts';
import { DASHBOARDS } from './dashboards.ts';
import { prometheusExample } from './monitoring.ts';
import { observabilityPage } from './observability-page.ts';
import { sloRules } from './slo-rules.ts';
import { envExample, settingsPage } from './settings-page.ts';

/** Writes the files that are derived from the topology and the settings. */
const checkout = join(import.meta.dirname, '../..');
const write = (path: string, make: (current: string) => string) => {
  const file = join(checkout, path);
  writeFileSync(file, make(readFileSync(file, 'utf8')));
};
const readers = await allSettings();
write('docs/settings.md', () => settingsPage(readers));
write('.env.example', () => envExample(readers));
write('deploy/alerts/prometheus.example.yml', prometheusExample);
write('deploy/alerts/slo.rules.yml', sloRules);
write('deploy/helm/ravand/services.json', () => chartServices(readers));
write('deploy/docker/compose.yaml', (current) => composeFile(current, readers));
for (const [file, make] of Object.entries(DASHBOARDS))
  writeFileSync(join(checkout, 'deploy/grafana', file), make());
write('docs/operations/observability.md', observabilityPage);
