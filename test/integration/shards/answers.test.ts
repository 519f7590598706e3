/**
 * The properties of reports, audiences, stats and exports on two shards: the same tests as those on
 * one server, with the accounts on both. The short form draws few cases of trends and paths; of the
 * others it has the worked examples.
 */
import { afterAll } from 'vitest';
import { FULL } from '../../support/stack.ts';
import { useShards } from '../../support/test-database.ts';
import { startOwnShards } from '../sink/own-servers.ts';

if (!FULL) process.env['REPORT_CASES'] ??= '2';
const shards = await startOwnShards();
// Before the hooks of the files below: the last one that is registered runs first.
afterAll(() => shards.close());
useShards({ urls: shards.servers.map(({ url }) => url), cluster: shards.cluster });
await import('../reports/trends.property.test.ts');
await import('../reports/paths.property.test.ts');
await import('../reports/worked-examples.test.ts');
await import('../campaigns/worked-examples.test.ts');
if (FULL) {
  await import('../exports/messages-export.property.test.ts');
  await import('../audiences/audiences.property.test.ts');
  await import('../reports/retention.property.test.ts');
  await import('../campaigns/stats.property.test.ts');
  await import('../reports/funnel.property.test.ts');
}
