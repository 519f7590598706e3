import { describe, expect, it } from 'vitest';
import { TOPIC } from '../../schemas/topology.ts';
import { trackedMessage } from '../support/channels.ts';
import { compareWithSent, foldCommands } from '../support/channels/expected-channels.ts';
import { startRegistrations } from '../support/channels/registration-load.ts';
import {
  asInClickhouse,
  readClickhouseState,
  readCommandsSince,
  readConsentChains,
  readPostgresState,
} from '../support/channels/stored-channels.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { topicEnds } from '../support/read-topic.ts';
import { metric } from '../support/service-process.ts';
import {
  createAccount,
  eventually,
  FULL,
  killService,
  ravand,
  readyStack,
  serviceStatus,
  sleep,
} from '../support/stack.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';

const KILLS = FULL ? 40 : 6;
const PER_SECOND = 500;
const USERS = 40;

describe('a registration or consent answered 200 counts, in the order of its acceptance', () => {
  const client = openClickhouse();
  const database = openPostgres();

  it(
    `after ${KILLS} kills with -9 of gateway and addresses-sink under ${PER_SECOND} registrations/s`,
    async () => {
      const { accountId, writeKey } = await createAccount('registrations under kills');
      const preferences = new Map<string, string>();
      for (let at = 0; at < USERS; at++) {
        const userId = `user-${at}`;
        preferences.set(
          userId,
          (await trackedMessage(database, { accountId, userId })).preferences,
        );
      }
      const from = await topicEnds(TOPIC.channelCommands);
      const { ingest_url: url } = readyStack();
      const load = startRegistrations({ url, writeKey, preferences, perSecond: PER_SECOND });
      const killed = { 'ingest-gateway': 0, 'addresses-sink': 0 };
      for (let kill = 0; kill < KILLS;) {
        await sleep(500 + Math.random() * 1500);
        const part = kill % 2 === 0 ? 'ingest-gateway' : 'addresses-sink';
        if (!(await killService(part))) continue;
        killed[part]++;
        kill++;
        await eventually({ ms: 30_000, waitingFor: `${part} to be up again` }, async () =>
          (await serviceStatus(part)).up ? true : undefined,
        );
      }
      await sleep(500);
      const { sent, refusals, perSecond } = await load.stop();
      expect(refusals).toEqual([]);
      const answered = sent.filter(({ answeredAt }) => answeredAt !== undefined).length;
      expect(answered).toBeGreaterThan(KILLS * 100);

      await eventually({ ms: 30_000, waitingFor: 'the spool to be published' }, async () =>
        (await spooled()) === 0 ? true : undefined,
      );
      const commands = await readCommandsSince(from, accountId);
      console.log(
        JSON.stringify({
          ...{ killed, perSecond, requests: sent.length, answered, commands: commands.length },
        }),
      );
      expect(compareWithSent(commands, sent)).toEqual({
        ...{ missing: [], unknown: [], doubled: [], changed: [], disordered: [] },
      });

      const expected = foldCommands(commands);
      const sorted = (state: object) => JSON.stringify(Object.entries(state).sort());
      await eventually({ ms: 60_000, waitingFor: 'all commands to be applied' }, async () => {
        const stored = await readClickhouseState(client, accountId);
        return sorted(stored) === sorted(asInClickhouse(expected)) ? true : undefined;
      }).catch(() => undefined);
      expect(await readPostgresState(database, accountId)).toEqual(expected);
      expect(await readClickhouseState(client, accountId)).toEqual(asInClickhouse(expected));

      const { broken, orders } = await readConsentChains(database, accountId);
      const changes = commands.filter(({ consent }) => consent !== null);
      expect(broken).toEqual([]);
      expect(orders).toEqual(
        new Set(changes.map(({ gateway, sequence }) => `${gateway} ${sequence}`)),
      );

      const books = await commandBooks(accountId);
      expect(books).toEqual({ accepted: commands.length, applied: commands.length, missing: 0 });
    },
    testTimeout(FULL ? 600_000 : 240_000),
  );
});

async function commandBooks(accountId: number): Promise<object> {
  const printed = await ravand('status', '--json', '--account', String(accountId));
  return (JSON.parse(printed) as { commands: object }).commands;
}

async function spooled(): Promise<number> {
  const { admin_url } = await serviceStatus('ingest-gateway');
  return metric(admin_url ?? '', 'ravand_gateway_spool_records');
}
