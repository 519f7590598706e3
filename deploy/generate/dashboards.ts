import { CONSUMER_GROUPS, INSTALLED_SERVICES, type ServiceName } from '../../schemas/topology.ts';
import { OVERVIEW, type Panel } from './overview-panels.ts';
import { burnRates } from './slo-rules.ts';

/** Panels under a heading. */
interface Row {
  heading: string;
  panels: readonly Panel[];
}

const COLUMNS = 3;
/** Of Grafana's grid, which is 24 wide. */
const [WIDTH, HEIGHT] = [24 / COLUMNS, 8];

/** The dashboards of deploy/grafana/, by file. */
export const DASHBOARDS: Readonly<Record<string, () => string>> = {
  'ravand.json': () =>
    dashboard({ uid: 'ravand', title: 'Ravand', rows: [{ heading: '', panels: OVERVIEW }] }),
  'ravand-consumers.json': () =>
    dashboard({ uid: 'ravand-consumers', title: 'Ravand: consumers', rows: consumerRows() }),
  'ravand-objectives.json': () =>
    dashboard({ uid: 'ravand-objectives', title: 'Ravand: objectives', rows: objectiveRows() }),
};

/** For each service of the topology that consumes topics, what it does with each of them. */
function consumerRows(): Row[] {
  const topics = Map.groupBy(CONSUMER_GROUPS, ({ service }) => service);
  return [...topics].map(([service, groups]) => ({
    heading: service,
    panels: groups.flatMap(({ topic }) => consumerPanels(service, topic)),
  }));
}

function consumerPanels(service: ServiceName, topic: string): Panel[] {
  const of = `{job="${service}",topic="${topic}"}`;
  return [
    {
      title: `${topic}: lag in seconds`,
      unit: 's',
      queries: { '{{partition}}': `max by (partition) (ravand_consumer_lag_seconds${of})` },
    },
    {
      title: `${topic}: lag in records`,
      unit: 'short',
      queries: { '{{partition}}': `sum by (partition) (ravand_consumer_lag_records${of})` },
    },
    {
      title: `${topic}: records processed; time of a batch, p99`,
      unit: 'short',
      queries: {
        'records/s': `sum(rate(ravand_consumer_records_total${of}[5m]))`,
        'batch, s': `histogram_quantile(0.99, sum by (le) (rate(ravand_consumer_take_seconds_bucket${of}[5m])))`,
      },
    },
  ];
}

/** Each objective: how fast its error budget is used; 1 uses it in 30 days. */
function objectiveRows(): Row[] {
  const panels = burnRates().map(({ title, queries }) => ({ title, unit: 'short', queries }));
  return [{ heading: '', panels }];
}

function dashboard({ uid, title, rows }: { uid: string; title: string; rows: Row[] }): string {
  const panels: object[] = [];
  let y = 0;
  for (const { heading, panels: own } of rows) {
    if (heading !== '') panels.push(headingOf(heading, { id: panels.length + 1, y: y++ }));
    for (const [at, panel] of own.entries()) {
      const [x, line] = [(at % COLUMNS) * WIDTH, Math.floor(at / COLUMNS) * HEIGHT];
      panels.push(panelOf(panel, { id: panels.length + 1, x, y: y + line }));
    }
    y += Math.ceil(own.length / COLUMNS) * HEIGHT;
  }
  const usesService = JSON.stringify(panels).includes('$service');
  const board = {
    uid,
    title,
    tags: ['ravand'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: [PROMETHEUS, ...(usesService ? [SERVICE] : [])] },
    panels,
  };
  return `${JSON.stringify(board, null, 2)}\n`;
}

const PROMETHEUS = {
  name: 'datasource',
  type: 'datasource',
  query: 'prometheus',
  label: 'Prometheus',
};

const SERVICE = {
  name: 'service',
  type: 'custom',
  label: 'Service',
  query: INSTALLED_SERVICES.join(','),
  multi: true,
  includeAll: true,
  current: { text: 'All', value: '$__all' },
};

function headingOf(title: string, { id, y }: { id: number; y: number }) {
  const gridPos = { h: 1, w: 24, x: 0, y };
  return { id, title, type: 'row', collapsed: false, gridPos, panels: [], targets: [] };
}

function panelOf(
  { title, description, isStat, unit, queries }: Panel,
  { id, x, y }: { id: number; x: number; y: number },
) {
  return {
    id,
    title,
    ...(description === undefined ? {} : { description }),
    type: isStat ? 'stat' : 'timeseries',
    datasource: { type: 'prometheus', uid: '${datasource}' },
    gridPos: { h: HEIGHT, w: WIDTH, x, y },
    fieldConfig: { defaults: unit === undefined ? {} : { unit, min: 0 }, overrides: [] },
    options: isStat
      ? { reduceOptions: { calcs: ['lastNotNull'] } }
      : { legend: { displayMode: 'list', placement: 'bottom' } },
    targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
      ...{ refId: String.fromCharCode(65 + at), expr, legendFormat },
    })),
  };
}
