import { performance } from 'node:perf_hooks';
import { join } from 'node:path';
import { createLog } from '../platform/log.ts';
import { readAddresses } from '../platform/addresses/read-addresses.ts';
import { migratePostgres } from '../platform/postgres/migrate.ts';
import { connectPostgres, type Database } from '../platform/postgres/pool.ts';

/**
 * Addresses and consents of a person in PostgreSQL (docs/channels.md), at a fixed rate,
 * among a million people. BENCH_DATABASE_URL names an empty database of a real PostgreSQL: PGlite
 * serves one statement at a time. Settings: BENCH_PEOPLE, BENCH_RATE, BENCH_SECONDS.
 */
const url = process.env['BENCH_DATABASE_URL'];
if (url === undefined) throw new Error('set BENCH_DATABASE_URL to an empty database');
const PEOPLE = Number(process.env['BENCH_PEOPLE'] ?? 1_000_000);
const RATE = Number(process.env['BENCH_RATE'] ?? 1000);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 20);

const database = connectPostgres({
  ...{ url, name: 'ravand-bench', max: 4, queryTimeout: 0 },
  log: createLog({ part: 'bench', level: 'error' }),
});
try {
  await migratePostgres(database, join(import.meta.dirname, '../deploy/migrations/postgres'));
  await seed(database);
  const elapsed = (await lookUp(database)).sort((a, b) => a - b);
  const at = (share: number) => (elapsed[Math.floor(share * elapsed.length)] ?? 0).toFixed(2);
  console.log('| people | look-ups | per second | p50 ms | p99 ms | p99.9 ms |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  console.log(
    `| ${PEOPLE} | ${elapsed.length} | ${RATE} | ${at(0.5)} | ${at(0.99)} | ${at(0.999)} |`,
  );
} finally {
  await database.end();
}

/**
 * Each person has two names, two devices, a browser, a chat, a device that was unregistered, two
 * consents, and maybe a bounce.
 */
async function seed(to: Pick<Database, 'query'>): Promise<void> {
  const statements = [
    `INSERT INTO identity_names (account_id, name, canonical, revision)
     SELECT 1, name, 'u' || n, 1 FROM generate_series(1, $1::int) AS n, unnest(ARRAY['u' || n, 'a' || n]) AS name`,
    `INSERT INTO channel_addresses (account_id, channel, address_id, app_id, user_id, anonymous_id, token_hash, details, received_at, gateway, sequence)
     SELECT 1, channel, channel || n || device, 1, CASE device WHEN 0 THEN 'u' || n ELSE '' END, CASE device WHEN 0 THEN '' ELSE 'a' || n END,
       CASE channel WHEN 'push' THEN sha256((channel || n || device)::bytea) END, '{"push_provider":"fcm"}', n, 'g', n
     FROM generate_series(1, $1::int) AS n, unnest(ARRAY['push', 'push', 'web', 'bale'], ARRAY[0, 1, 0, 0]) AS of (channel, device)`,
    `INSERT INTO channel_tokens (account_id, token_hash, address_id, received_at, gateway, sequence)
     SELECT account_id, token_hash, address_id, received_at, gateway, sequence FROM channel_addresses WHERE token_hash IS NOT NULL AND sequence <= $1::int`,
    `INSERT INTO channel_ends (account_id, channel, user_id, address_id, reason, received_at, gateway, sequence)
     SELECT 1, 'push', '', 'former' || n, 'unregistered', n, 'g', n FROM generate_series(1, $1::int) AS n`,
    `INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence)
     SELECT 1, 'u' || n, channel, 'subscribed', n, 'g', n FROM generate_series(1, $1::int) AS n, unnest(ARRAY['email', 'push']) AS channel`,
    `INSERT INTO channel_suppressions (account_id, channel, address, suppressed, reason, user_id, received_at, gateway, sequence)
     SELECT 1, 'email', 'u' || n || '@mail.example', true, 'hard_bounce', 'u' || n, n, 'g', n FROM generate_series(1, $1::int, 10) AS n`,
  ];
  for (const statement of statements) await to.query(statement, [PEOPLE]);
  await to.query('ANALYZE');
}

/** Starts a look-up whenever one is due, answered or not: ms from when it was due. */
async function lookUp(from: Pick<Database, 'query'>): Promise<number[]> {
  const elapsed: number[] = [];
  const begin = performance.now();
  const open: Promise<void>[] = [];
  for (let next = 0; next < RATE * SECONDS;) {
    const due = Math.min(RATE * SECONDS, ((performance.now() - begin) / 1000) * RATE);
    for (; next < due; next++) {
      const dueAt = begin + (next / RATE) * 1000;
      const person = 1 + ((next * 7919) % PEOPLE);
      const userId = next % 2 === 0 ? `u${person}` : `a${person}`;
      open.push(
        readAddresses(from, { accountId: 1, userId }).then(({ addresses }) => {
          if (addresses.length < 4) throw new Error(`${userId} has ${addresses.length} addresses`);
          elapsed.push(performance.now() - dueAt);
        }),
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(open);
  return elapsed;
}
