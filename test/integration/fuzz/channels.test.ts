import { readdir, readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { fitsBytes } from '../../../events/bytes.ts';
import { CHANNELS } from '../../../events/channels/channel-change.ts';
import { CHANNEL_COMMAND_KINDS, type ChannelCommand } from '../../../schemas/records.ts';
import { TOPIC } from '../../../schemas/topology.ts';
import { adminWithInput } from '../../support/admin-input.ts';
import { trackedMessage, trackingTokens } from '../../support/channels.ts';
import { foldCommands } from '../../support/channels/expected-channels.ts';
import {
  asInClickhouse,
  readClickhouseState,
  readCommandsSince,
  readConsentChains,
  readPostgresState,
} from '../../support/channels/stored-channels.ts';
import { topicEnds } from '../../support/read-topic.ts';
import {
  admin,
  createAccount,
  eventually,
  FULL,
  readyStack,
  serviceStatus,
  sleep,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { channelInput, type ChannelFixtures } from './channel-inputs.ts';
import { exchange, type Target } from './exchange.ts';
import { SeededRandom } from './seeded-random.ts';

const SEED = Number(process.env['RAVAND_FUZZ_SEED'] ?? 20_261_122);
const INPUTS = Number(process.env['RAVAND_FUZZ_INPUTS'] ?? (FULL ? 8000 : 3000));
const CONNECTIONS = 16;
const ALLOWED = [200, 400, 401, 403, 404, 405, 413, 431];
const REGISTRATIONS = /^\/v1\/(devices|webpush|messenger)/;
const MAILS = join(import.meta.dirname, '../../../events/channels/bounce/testing');
const OF_SOMEBODY = new Set([
  ...['device_registered', 'web_push_subscribed', 'messenger_linked', 'messenger_unlinked'],
  ...['consent_changed', 'inbox_read'],
]);
/** Whom the reports in the mails are about. */
const ADDRESSES = ['sara@example.ir', 'reza@example.org', 'sara@gmail.example'];

const client = openClickhouse();
const database = openPostgres();
let account: TestAccount;
let fixtures: ChannelFixtures;

beforeAll(async () => {
  account = await createAccount('channel fuzz');
  const ofAccount = ['--account', String(account.accountId)];
  const apps = await database.query<{ id: string }>('SELECT id FROM apps WHERE account_id = $1', [
    account.accountId,
  ]);
  const app = ['--app-id', apps.rows[0]?.id ?? ''];
  const { inbox_secret } = await admin<{ inbox_secret: string }>(
    ...['app', 'secret', ...ofAccount, ...app],
  );
  const { campaign_id } = await adminWithInput<{ campaign_id: number }>(
    {
      ...{ name: 'fuzz', kind: 'survey', content: {}, frequency: 'session' },
      fields: [
        { name: 'score', type: 'rating', required: true },
        { name: 'comment', type: 'text' },
      ],
      targeting: { url: [{ op: 'contains', value: 'cart' }] },
    },
    ...['onsite', 'create', ...ofAccount],
  );
  fixtures = {
    ...{ writeKey: account.writeKey, inboxSecret: inbox_secret, campaignId: campaign_id },
    ...(await paths()),
    mails: await readMails(),
  };
});

async function paths(): Promise<Pick<ChannelFixtures, 'pages' | 'bounces'>> {
  const { accountId } = account;
  const tokens = trackingTokens();
  const nobody = { accountId, ref: Buffer.alloc(12, 255) };
  const pages = [`/e/u/${tokens.write('unsubscribe', nobody)}`];
  const bounces = [`/v1/bounce/${tokens.write('bounce', nobody)}`];
  for (const address of ADDRESSES) {
    const message = await trackedMessage(database, { accountId, userId: address, address });
    const { open, unsubscribe, preferences, bounce } = message;
    // One token is for another purpose than its page.
    pages.push(open, unsubscribe, preferences, preferences.replace('/e/p/', '/e/u/'));
    bounces.push(bounce);
  }
  return { pages, bounces };
}

async function readMails(): Promise<Buffer[]> {
  const names = (await readdir(MAILS)).filter((name) => name.endsWith('.eml'));
  return Promise.all(names.sort().map((name) => readFile(join(MAILS, name))));
}

/** Statuses by trace, and what went wrong; an exchange without an answer within 30 s did. */
async function sendAll(target: Target): Promise<{
  byTrace: Map<string, { status: number; path: string }>;
  statuses: Map<number, number>;
  faults: string[];
}> {
  const byTrace = new Map<string, { status: number; path: string }>();
  const statuses = new Map<number, number>();
  const faults: string[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const sendEvery = async (first: number) => {
    for (let index = first; index < INPUTS; index += CONNECTIONS) {
      const random = new SeededRandom(SEED * 1_000_000 + index);
      const { kind, ...input } = channelInput(random, fixtures);
      let [status, body] = [0, ''];
      // 503 asks to send again, so an input that is always answered 503 is a fault.
      for (let tries = 0; tries === 0 || (status === 503 && tries < 20); tries++) {
        if (tries > 0) await sleep(1000);
        const trace = random.hex(16);
        const answer = await exchange(target, agent, { ...input, trace });
        [status, body] = [answer.status ?? 0, answer.body];
        byTrace.set(trace, { status, path: input.path });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      if (!ALLOWED.includes(status)) faults.push(`${index} ${kind}: ${status} ${body}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, first) => sendEvery(first)));
  agent.destroy();
  return { byTrace, statuses, faults };
}

/** Why a command should never have been written; undefined when it is well made. */
function garbage(command: ChannelCommand): string | undefined {
  const { kind, channel, user_id, anonymous_id, address_id } = command;
  if (!(CHANNEL_COMMAND_KINDS as readonly string[]).includes(kind)) return `kind ${kind}`;
  if (!(CHANNELS as readonly string[]).includes(channel)) return `channel ${channel}`;
  for (const text of [user_id, anonymous_id]) if (!fitsBytes(text, 256)) return 'a long id';
  if (!fitsBytes(address_id, 2048)) return 'a long address';
  const isOfSomebody = user_id !== '' || anonymous_id !== '';
  if (OF_SOMEBODY.has(kind) && !isOfSomebody) return `${kind} of nobody`;
  if (kind === 'device_registered' && !command.device) return 'a device without description';
  if (kind === 'consent_changed' && !command.consent) return 'a consent without state';
  return undefined;
}

it(
  `${INPUTS.toLocaleString('en')} inputs of seed ${SEED} to channel routes cause no fault and leave only what was accepted`,
  { timeout: 300_000 + INPUTS * 60 },
  async () => {
    const from = await topicEnds(TOPIC.channelCommands);
    const { pid } = await serviceStatus('ingest-gateway');
    const { hostname, port } = new URL(readyStack().ingest_url);
    const target = { host: hostname, port: Number(port), writeKey: account.writeKey };
    const { byTrace, statuses, faults } = await sendAll(target);
    const commands = await readCommandsSince(from, account.accountId);
    console.log(
      JSON.stringify({
        ...{ seed: SEED, inputs: INPUTS, commands: commands.length },
        statuses: Object.fromEntries([...statuses].sort()),
      }),
    );
    expect(faults).toEqual([]);
    expect(statuses.get(503) ?? 0).toBeLessThanOrEqual(INPUTS / 300);
    expect((await serviceStatus('ingest-gateway')).pid).toBe(pid);

    const written = new Set(commands.map(({ trace }) => trace));
    const accepted = [...byTrace].filter(
      ([, { status, path }]) => status === 200 && REGISTRATIONS.test(path),
    );
    expect(accepted.length).toBeGreaterThan(INPUTS / 50);
    expect(accepted.filter(([trace]) => !written.has(trace))).toEqual([]);
    // What was answered 503 may have been written.
    const possible = [200, 503];
    expect(
      [...written].filter((trace) => !possible.includes(byTrace.get(trace)?.status ?? 0)),
    ).toEqual([]);
    expect(commands.map(garbage).filter((found) => found !== undefined)).toEqual([]);

    const expected = foldCommands(commands);
    const sorted = (state: object) => JSON.stringify(Object.entries(state).sort());
    await eventually({ ms: 60_000, waitingFor: 'all commands to be applied' }, async () => {
      const stored = await readClickhouseState(client, account.accountId);
      return sorted(stored) === sorted(asInClickhouse(expected)) ? true : undefined;
    }).catch(() => undefined);
    expect(await readPostgresState(database, account.accountId)).toEqual(expected);
    expect(await readClickhouseState(client, account.accountId)).toEqual(asInClickhouse(expected));
    expect((await readConsentChains(database, account.accountId)).broken).toEqual([]);
  },
);
