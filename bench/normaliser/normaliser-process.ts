/**
 * The normaliser with its own topics, group and claims; reports published events and CPU time to
 * its parent process, bench/normaliser.ts.
 */
import { startNormaliser } from '../../pipeline/normalise/app.ts';
import { settings as normaliserSettings, type Names } from '../../pipeline/normalise/config.ts';
import { parseSettings } from '../../platform/settings.ts';
import {
  connectNormaliserProducer,
  countPartitions,
  watchEnds,
} from '../../pipeline/normalise/connect.ts';
import { NormaliserMetrics } from '../../pipeline/normalise/metrics.ts';
import { Reasons } from '../../pipeline/normalise/reasons.ts';
import { connectClaims } from '../../platform/claims/connect.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import { createLog } from '../../platform/log.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';

const names = JSON.parse(process.argv[2] ?? '') as Names;
const config = parseSettings(normaliserSettings, process.env);
const log = createLog({ part: 'bench-normaliser', level: 'warn' });
const { signal } = new AbortController();
const connecting = { config, names, log, signal };
const redis = connectClaims({
  settings: config,
  role: 'normaliser',
  onError: (error) => log.error(error),
});
const clickhouse = connectClickhouse({ settings: config, name: 'bench-normaliser' });
const database = connectPostgres({ url: config.DATABASE_URL, log, name: 'bench-normaliser' });
const partitions = await countPartitions(connecting);
const producer = await connectNormaliserProducer(connecting);
const metrics = new NormaliserMetrics();
const normaliser = await startNormaliser({
  ...{ config, names, log, redis, clickhouse, database, producer, metrics, partitions },
  ...{
    reasons: new Reasons(),
    knownEnds: watchEnds({ ...connecting, producer, partitions: () => partitions.events }),
    stopping: signal,
  },
  writtenRows: () => NEWEST_ROW_VERSION,
  packs: () => true,
  crash: (error) => {
    log.error({ err: error }, 'crashed');
    process.exit(1);
  },
});

async function report(): Promise<{ rows: number; cpu: number }> {
  const counter = await metrics.registry.getSingleMetric('ravand_normaliser_events_total')?.get();
  const { user, system } = process.cpuUsage();
  return {
    rows: counter?.values.reduce((sum, { value }) => sum + value, 0) ?? 0,
    cpu: (user + system) / 1000,
  };
}

process.on('message', (message) => {
  if (message === 'report') void report().then((answer) => process.send?.(answer));
  else void normaliser.close().then(() => process.exit(0));
});
