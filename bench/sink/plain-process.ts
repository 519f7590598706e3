/** The baseline: `client.insert` of the same rows as objects (JSONEachRow). */
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { clickhouseSettings } from '../../platform/settings-common.ts';
import { parseSettings } from '../../platform/settings.ts';
import { COLUMNS } from '../../projections/events/insert-batch.ts';
import { sampleRow } from './rows.ts';

const [rows = 0, batch = 0, connections = 0] = process.argv.slice(2).map(Number);
const client = connectClickhouse({
  settings: parseSettings(clickhouseSettings, process.env),
  name: 'bench-plain',
  connections,
});
const now = Date.now();
// One batch of objects, built before the measurement starts and inserted repeatedly.
const values = Array.from({ length: batch }, (_, index) =>
  Object.fromEntries(
    Object.entries(sampleRow({ partition: 0, offset: 1, index, now })).filter(([name]) =>
      COLUMNS.includes(name),
    ),
  ),
);
const cpu = process.cpuUsage();
const began = performance.now();
let left = Math.ceil(rows / batch);
const inserter = async () => {
  while (left-- > 0) {
    await client.insert({
      table: 'events_plain',
      values,
      format: 'JSONEachRow',
      columns: [...COLUMNS] as [string],
      clickhouse_settings: { async_insert: 0 },
    });
  }
};
await Promise.all(Array.from({ length: connections }, inserter));
const used = process.cpuUsage(cpu);
process.send?.({
  rows: Math.ceil(rows / batch) * batch,
  took: performance.now() - began,
  cpu: (used.user + used.system) / 1000,
});
await client.close();
