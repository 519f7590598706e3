/**
 * The properties of reports, audiences, stats and exports on two shards: the same tests as those on
 * one server, with the accounts on both. The short form draws a case of each, and leaves out the
 * properties of retention and stats, which draw many; their worked examples stay.
 */
import { afterAll } from 'vitest';
import { FULL } from '../../support/stack.ts';
import { useShards } from '../../support/test-database.ts';
import { startOwnShards } from '../sink/own-servers.ts';

if (!FULL) {
  process.env['REPORT_CASES'] ??= '1';
  process.env['AUDIENCE_CASES'] ??= '30';
}
const shards = await startOwnShards();
useShards({ urls: shards.servers.map(({ url }) => url), cluster: shards.cluster });
await import('../reports/trends.property.test.ts');
await import('../reports/paths.property.test.ts');
if (FULL) await import('../reports/retention.property.test.ts');
await import('../reports/worked-examples.test.ts');
await import('../audiences/audiences.property.test.ts');
if (FULL) await import('../campaigns/stats.property.test.ts');
await import('../campaigns/worked-examples.test.ts');
await import('../exports/messages-export.property.test.ts');
await import('../reports/funnel.property.test.ts');
afterAll(() => shards.close());
