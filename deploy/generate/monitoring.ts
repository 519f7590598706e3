import { INSTALLED_SERVICES } from '../../schemas/topology.ts';

interface Variable {
  name: string;
}
interface Dashboard {
  templating: { list: Variable[] };
  panels: { targets: { expr: string }[] }[];
}

/** The first admin port of prometheus.example.yml. */
const FIRST_PORT = 9101;
/** Metrics that every service has, or every consumer: the variable `service` selects among them. */
const PER_SERVICE =
  /\b(ravand_ready|ravand_process_[a-z_]+|ravand_consumer_[a-z_]+)(?:\{job=~"\$service"\})?(?![a-z_{])/g;

/** deploy/alerts/prometheus.example.yml with a scrape job for each service of the topology. */
export function prometheusExample(current: string): string {
  const head = current.slice(0, current.indexOf('scrape_configs:'));
  const jobs = INSTALLED_SERVICES.map(
    (name, at) =>
      `  - job_name: ${name}\n    static_configs: [{ targets: ['127.0.0.1:${FIRST_PORT + at}'] }]\n`,
  );
  return `${head}scrape_configs:\n${jobs.join('')}`;
}

/**
 * deploy/grafana/ravand.json with the variable `service`, which lists the services of the topology;
 * the panels of all services and consumers select by it.
 */
export function dashboard(current: string): string {
  const board = JSON.parse(current) as Dashboard;
  const service = {
    name: 'service',
    type: 'custom',
    label: 'Service',
    query: INSTALLED_SERVICES.join(','),
    multi: true,
    includeAll: true,
    current: { text: 'All', value: '$__all' },
  };
  board.templating.list = [
    ...board.templating.list.filter(({ name }) => name !== service.name),
    service,
  ];
  for (const target of board.panels.flatMap(({ targets }) => targets))
    target.expr = target.expr.replace(PER_SERVICE, '$1{job=~"$$service"}');
  return `${JSON.stringify(board, null, 2)}\n`;
}
