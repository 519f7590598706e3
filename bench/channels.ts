import { hash, randomBytes } from 'node:crypto';
import { createLog } from '../platform/log.ts';
import { connectPostgres, type Database } from '../platform/postgres/pool.ts';
import { seedAccount } from './account.ts';
import { compareServers, ROUND_MS, withServers, type Servers } from './gateway-comparison.ts';
import { numberedTemplates } from './gateway/bodies.ts';
import { benchStack } from './stack.ts';

/**
 * Registrations and on-site campaigns beside single events, each beside a bare node:http server, in
 * the same run. Stop what reads the log before it (`./ravand stop normaliser`, addresses-sink).
 * Settings: BENCH_ROUNDS, BENCH_ROUND_MS.
 */
const CAMPAIGNS = 1000;
const NAMES = 5000;
/** Those of on-site keep the gateway busy and wait little: p99 is that of the route. */
const CONNECTIONS: Record<string, number> = { '/v1/onsite': 8 };

const stack = benchStack();
const account = await seedAccount(
  stack.database_url,
  `bench channels ${randomBytes(4).toString('hex')}`,
);
const database = connectPostgres({
  url: stack.database_url,
  log: createLog({ part: 'bench', level: 'error' }),
  ...{ name: 'ravand-bench', max: 1 },
});
try {
  await seedCampaigns(database, account.accountId);
  await withServers(
    { bare: 'bench/gateway/bare-server.ts', env: { PUSH_ENABLED: 'true' } },
    compare,
  );
} finally {
  await database.query(
    'UPDATE onsite_campaigns SET enabled = false, updated_at = now() WHERE account_id = $1',
    [account.accountId],
  );
  await database.end();
}

async function compare(servers: Servers): Promise<void> {
  const number = (value: number) => Math.round(value).toLocaleString('en');
  await untilListed(servers.gateway.port);
  console.log('| requests | server | per second | of bare | CPU µs each | p50 ms | p99 ms |');
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const [index, { name, path }] of numberedTemplates(account.writeKey).entries()) {
    if (name.startsWith('batches')) continue;
    const connections = String(CONNECTIONS[path.split('?')[0] ?? ''] ?? 256);
    const medians = await compareServers(servers, {
      script: 'bench/gateway/load-process.ts',
      args: (port, run) => [
        ...[String(port), String(index), connections, String(ROUND_MS), account.writeKey],
        String(run),
      ],
    });
    for (const [server, { rate, cpu, p50, p99 }] of Object.entries(medians))
      console.log(
        `| ${name} | ${server} | ${number(rate)} | ${(rate / medians.bare.rate).toFixed(2)} | ${cpu.toFixed(0)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
      );
  }
}

/** Each with an audience of its own, whose members are random, and one for everybody. */
async function seedCampaigns(sql: Pick<Database, 'query'>, accountId: number): Promise<void> {
  const content = { title: 'تخفیف', text: 'x'.repeat(200) };
  const definition = JSON.stringify({
    ...{ kind: 'popup', content, fields: [], url: [], frequency: 'always' },
  });
  for (let at = 0; at < CAMPAIGNS; at++) {
    const audience = JSON.stringify({ trait: 'club', op: 'eq', value: String(at) });
    const key = hash('sha256', audience);
    const names = Buffer.from(new BigUint64Array(randomBytes(NAMES * 8).buffer).sort().buffer);
    await sql.query(
      `WITH audience AS (INSERT INTO onsite_audiences (account_id, audience, definition, bits, names, computed_at) VALUES ($1, $2, $3, 0, $4, now() + interval '1 day'))
       INSERT INTO onsite_campaigns (account_id, name, definition, audience, audience_key) VALUES ($1, 'bench', $5, $3, $2)`,
      [accountId, key, audience, NAMES, definition],
    );
    await sql.query(
      'INSERT INTO onsite_audience_chunks (account_id, audience, bits, chunk, names, digest) VALUES ($1, $2, 0, 0, $3, $4)',
      [accountId, key, names, Buffer.from(hash('sha256', names), 'hex')],
    );
  }
  await sql.query(
    `INSERT INTO onsite_campaigns (account_id, name, definition) VALUES ($1, 'everybody', $2)`,
    [accountId, definition],
  );
}

async function untilListed(port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}/v1/onsite?write_key=${account.writeKey}`;
  for (let waited = 0; waited < 60_000; waited += 500) {
    const { campaigns } = (await (await fetch(url)).json()) as { campaigns: unknown[] };
    if (campaigns.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('the gateway lists no campaign after a minute');
}
