import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readReconciliation } from '../../platform/meters/read-reconciliation.ts';
import { topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { NEWEST_ROW_VERSION } from '../../schemas/row-versions.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { startCommerceLoad, type SentEvents } from '../support/commerce-load.ts';
import { expectBalanced } from '../support/expect-balanced.ts';
import { Ledger } from '../support/ledger.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { stackKafka } from '../support/read-topic.ts';
import { ReleaseProcesses } from '../support/release-processes.ts';
import { freePort, metric, serverSettings } from '../support/service-process.ts';
import {
  clickhouse,
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  serviceStatus,
  sleep,
} from '../support/stack.ts';
import { verifyCommerce } from '../support/verify-commerce.ts';

const CHECKOUT = join(import.meta.dirname, '../..');
const NEXT = NEWEST_ROW_VERSION + 1;
const SINKS = ['events-sink', 'profiles-sink', 'identities-sink', 'catalogue-sink', 'relays'];

interface Schema {
  fields: { name: string; type: unknown; default?: unknown }[];
}

/** A copy of this code as of its last commit, with one more version of two schemas. */
function newerRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ravand-newer-'));
  const archive = execFileSync('git', ['archive', '--format=tar', 'HEAD'], {
    ...{ cwd: CHECKOUT, maxBuffer: 256 * 1024 * 1024 },
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(CHECKOUT, 'node_modules'), join(folder, 'node_modules'));
  const add = (from: string, to: string, field: Schema['fields'][number]) => {
    const schema = JSON.parse(readFileSync(join(folder, 'schemas', from), 'utf8')) as Schema;
    schema.fields.push(field);
    writeFileSync(join(folder, 'schemas', to), JSON.stringify(schema));
  };
  const row = { name: '_added', type: 'string', default: 'added' };
  add(`event-row.v${NEXT - 1}.avsc`, `event-row.v${NEXT}.avsc`, row);
  const raw = { name: 'added', type: ['null', 'long'], default: null };
  add('raw-record.v2.avsc', 'raw-record.v3.avsc', raw);
  writeFileSync(
    join(folder, 'projections/events/ddl/0099_added.sql'),
    'ALTER TABLE events ADD COLUMN IF NOT EXISTS _added String;\n',
  );
  return folder;
}

/**
 * On a stack of its own, since this release cannot read what the newer one leaves in the log.
 * Slow: only with --full.
 */
describe.runIf(FULL)('What a newer release writes', () => {
  let home = '';
  let newer = '';
  let processes: ReleaseProcesses;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'ravand-newer-home-'));
    newer = newerRelease();
    processes = new ReleaseProcesses(newer);
    process.env['RAVAND_HOME'] = home;
    for (const name of ['HTTP_ADDR', 'PUBLIC_API_ADDR', 'PANEL_ADDR'])
      process.env[name] = `127.0.0.1:${await freePort()}`;
    await ravand('up', '--detach');
  }, testTimeout(240_000));
  afterAll(async () => {
    await processes.remove();
    await ravand('down');
    for (const folder of [home, newer]) rmSync(folder, { recursive: true, force: true });
  }, testTimeout(120_000));

  it(
    'waits in every consumer of this release, and the newer one loses and doubles nothing of it',
    async () => {
      const ready = readyStack();
      const env = { ...process.env, ...serverSettings(ready) };
      const run = promisify(execFile);
      await run(process.execPath, [join(newer, 'deploy/local/setup/migrate-clickhouse.ts')], {
        env,
      });
      const gateways = new Set([ready.ingest_url]);
      const balanced = {
        ...ready,
        get ingest_url() {
          const urls = [...gateways];
          return urls[Math.floor(Math.random() * urls.length)] ?? '';
        },
      };
      const account = await createAccount('newer release');
      const [ledger, sayings] = [new Ledger(), new Map() as SentEvents];
      const options = { ready: balanced, account, ledger, people: 6, pause: 10 };
      const load = startCommerceLoad({ ...options, sentEvents: sayings });

      await processes.start('ingest-gateway');
      gateways.add(processes.url);
      await sleep(2000);
      gateways.delete(ready.ingest_url);
      await ravand('stop', 'ingest-gateway');
      await untilWaiting('normaliser', TOPIC.raw);
      await untilWaiting('metering', TOPIC.raw);

      for (const name of ['normaliser', 'metering']) {
        await processes.start(name);
        await ravand('stop', name);
      }
      await sleep(3000);
      const finish = ['log', 'finish-upgrade'];
      const failed = await run(join(newer, 'ravand'), finish, { env }).catch(
        (error: unknown) => error as { stderr: string },
      );
      expect(failed.stderr).toContain('has a member of an older release');
      const database = new pg.Client({ connectionString: ready.database_url });
      await database.connect();
      await database.query(`UPDATE written_schemas SET version = $1 WHERE subject = 'event-row'`, [
        NEXT,
      ]);
      for (const name of SINKS) await untilWaiting(name, TOPIC.normalised);

      for (const name of SINKS) {
        await processes.start(name);
        await ravand('stop', name);
      }
      const client = clickhouse(ready);
      await verifyCommerce(client, { account, ledger, sayings, stop: () => load.stop() }, {});
      await client.close();
      // Metering of the stack is down: its books are read where the newer release writes them.
      await expectBalanced(account, ledger, (accountId) =>
        readReconciliation(database, { accountId, spooled: 0 }),
      );
      await database.end();
      const ends = await withKafkaAdmin(stackKafka(), (admin) => topicEnds(admin, TOPIC.dead));
      expect(ends.reduce((sum, { high }) => sum + high, 0)).toBe(0);
    },
    testTimeout(600_000),
  );
});

/** The service says that it waits: /readyz, metric. */
async function untilWaiting(name: string, topic: string): Promise<void> {
  const { admin_url } = await serviceStatus(name);
  const url = admin_url ?? '';
  await eventually({ ms: 60_000, waitingFor: `${name} to wait` }, async () => {
    const answer = await fetch(`${url}/readyz`);
    const text = await answer.text();
    return answer.status === 503 && text.includes('which a newer release wrote') ? true : undefined;
  });
  const waiting = await metric(url, 'ravand_consumer_unknown_schema', `topic="${topic}"`);
  expect(waiting, name).toBeGreaterThan(0);
}
