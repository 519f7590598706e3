import { randomBytes } from 'node:crypto';
import { makeSealingKey, parseSealingKeys } from '../platform/sealing.ts';
import { compareServers, ROUND_MS, withServers } from './gateway-comparison.ts';
import { benchStack } from './stack.ts';
import { signedOrder } from './webhooks/order.ts';
import { seedConnection } from './webhooks/seed.ts';

/**
 * Webhook intake beside a bare node:http server that computes the HMAC and parses, in the same run.
 * Each delivery is a signed order with an id of its own. Settings: BENCH_ROUNDS, BENCH_ROUND_MS.
 */
const CONNECTIONS = 64;

const sealingKey = makeSealingKey('bench');
const sealer = parseSealingKeys(sealingKey);
if (!sealer) throw new Error('a fresh sealing key cannot be read');
const secret = randomBytes(24).toString('base64url');
const token = await seedConnection({ databaseUrl: benchStack().database_url, sealer, secret });
const bare = { bare: 'bench/webhooks/bare-server.ts', bareArgs: [secret] };
await withServers({ ...bare, env: { SEALING_KEY: sealingKey } }, async (servers) => {
  const medians = await compareServers(servers, {
    script: 'bench/webhooks/load-process.ts',
    args: (port, run) => [
      ...[String(port), String(CONNECTIONS), String(ROUND_MS), token, secret, String(run)],
    ],
  });
  console.log(
    '| deliveries | server | deliveries/s | of bare | CPU ms per 1,000 | p50 ms | p99 ms |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  const title = `signed order (${signedOrder().length.toLocaleString('en')} B)`;
  for (const [name, { rate, cpu, p50, p99 }] of Object.entries(medians))
    console.log(
      `| ${title} | ${name} | ${Math.round(rate).toLocaleString('en')} | ${(rate / medians.bare.rate).toFixed(2)} | ${cpu.toFixed(0)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`,
    );
});
