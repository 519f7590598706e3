import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { relayPurpose } from '../../events/relays/definition.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { RelayProcess } from '../../test/support/relay-process.ts';
import { repeated, type Parties, type Scenario } from './scenario.ts';
import type { Tenant } from './tenant.ts';

/** Relays of the hostile account, each to an endpoint of its own. */
const SLOW_RELAYS = 20;
/** How long the slow endpoints take, ms. */
const SLOW_MS = 5000;
/** A delivery that takes longer has failed, ms. */
const DEADLINE_MS = 60_000;

interface Options {
  parties: Parties;
  database: Database;
  sealer: Sealer;
  sealingKey: string;
}

/** Relays: from the event to its delivery, beside an account whose endpoints are slow. */
export async function relaysScenario(options: Options): Promise<Scenario> {
  const { parties } = options;
  const waiting = new Map<string, () => void>();
  const quick = await endpoint((messageId, respond) => {
    respond();
    waiting.get(messageId)?.();
  });
  const slow = await Promise.all(
    Array.from({ length: SLOW_RELAYS }, () =>
      endpoint((_messageId, respond) => void setTimeout(respond, SLOW_MS).unref()),
    ),
  );
  const ports = [quick, ...slow].map(portOf);
  const relays = await RelayProcess.create({
    RELAY_ALLOW_HOSTS: ports.map((port) => `127.0.0.1:${port}`).join(','),
    SEALING_KEY: options.sealingKey,
  });
  await saveRelay(options, { tenant: parties.measured, port: portOf(quick), event: 'fair' });
  for (const server of slow)
    await saveRelay(options, { tenant: parties.hostile, port: portOf(server), event: 'noise' });
  // The relays service reads definitions every few seconds.
  await new Promise((resolve) => setTimeout(resolve, 5000));
  return {
    resource: 'relays',
    attack: `${SLOW_RELAYS} relays to endpoints that take ${SLOW_MS / 1000} s`,
    rate: 10,
    operation: async () => {
      const messageId = randomUUID();
      const delivered = new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('not delivered')), DEADLINE_MS);
        waiting.set(messageId, () => {
          clearTimeout(timer);
          waiting.delete(messageId);
          resolve();
        });
      });
      await track(parties, parties.measured, { event: 'fair', messageIds: [messageId] });
      await delivered;
    },
    begin: () =>
      Promise.resolve(
        repeated(2, async () => {
          const messageIds = Array.from({ length: 20 }, () => randomUUID());
          await track(parties, parties.hostile, { event: 'noise', messageIds });
          await new Promise((resolve) => setTimeout(resolve, 100));
        }),
      ),
    close: async () => {
      await options.database.query('DELETE FROM relays WHERE account_id = ANY($1::bigint[])', [
        [parties.measured.accountId, parties.hostile.accountId],
      ]);
      await relays.close();
      for (const server of [quick, ...slow]) server.close().closeAllConnections();
    },
  };
}

async function saveRelay(
  { database, sealer }: Options,
  { tenant, port, event }: { tenant: Tenant; port: number; event: string },
): Promise<void> {
  const { accountId } = tenant;
  const { rows } = await database.query<{ id: string }>(
    'INSERT INTO relays (account_id, name, url, events, filters, enabled) VALUES ($1, $2, $3, $4, $5, false) RETURNING id',
    [accountId, randomUUID(), `http://127.0.0.1:${port}/hook`, [event], '[]'],
  );
  const id = Number(rows[0]?.id);
  const secret = sealer.seal('a secret of the bench', relayPurpose({ accountId, id }));
  await database.query(
    'UPDATE relays SET secret = $2, enabled = true, active_since = clock_timestamp() WHERE id = $1',
    [id, secret],
  );
}

async function track(
  { ingestUrl }: Parties,
  { writeKey }: Tenant,
  { event, messageIds }: { event: string; messageIds: readonly string[] },
): Promise<void> {
  const batch = messageIds.map((message_id) => ({
    ...{ type: 'track', event, user_id: 'u', message_id },
  }));
  const response = await fetch(`${ingestUrl}/v1/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${writeKey}` },
    body: JSON.stringify({ batch }),
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`the gateway answered ${response.status}`);
}

/** A server on a free port of loopback. */
async function endpoint(
  onDelivery: (messageId: string, respond: () => void) => void,
): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as { message_id: string };
      onDelivery(body.message_id, () => response.end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
