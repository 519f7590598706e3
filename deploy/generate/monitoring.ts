import { INSTALLED_SERVICES } from '../../schemas/topology.ts';

/** The first admin port of prometheus.example.yml. */
const FIRST_PORT = 9101;

/** deploy/alerts/prometheus.example.yml with a scrape job for each service of the topology. */
export function prometheusExample(current: string): string {
  const head = current.slice(0, current.indexOf('scrape_configs:'));
  const jobs = INSTALLED_SERVICES.map(
    (name, at) =>
      `  - job_name: ${name}\n    static_configs: [{ targets: ['127.0.0.1:${FIRST_PORT + at}'] }]\n`,
  );
  return `${head}scrape_configs:\n${jobs.join('')}`;
}
