import { drain } from './drain.ts';

/** `node main.ts DELAY_S DRAIN_S ADMIN_PORT`: the preStop hook of the Helm chart. */
const [delayS = 0, drainS = 0, port = 0] = process.argv.slice(2).map(Number);
const left = await drain({
  delayMs: delayS * 1000,
  drainMs: drainS * 1000,
  metricsUrl: `http://127.0.0.1:${port}/metrics`,
});
if (left > 0)
  console.error(`${left} bytes stay in the spool: the next pod of this volume has them`);
