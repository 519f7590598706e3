import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../events/channels/channel-change.ts';
import { campaignMessageId, personKey } from '../../../events/messages/message-id.ts';
import {
  connectDelivery,
  type DeliveryTools,
} from '../../../messaging/delivery/connect-delivery.ts';
import type { ProviderAnswer, ProviderMessage } from '../../../messaging/providers/provider.ts';
import {
  clickhouseWith,
  type ProfileRow,
} from '../../../messaging/recipients/testing/stored-profiles.ts';
import type { OpenSender } from '../../../messaging/senders/senders.ts';
import { messageSettingsReader } from '../../../messaging/settings/settings-store.ts';
import { shortLinkSettings } from '../../../messaging/links/short-link-settings.ts';
import { outboundSettings } from '../../../platform/outbound/outbound-settings.ts';
import type { Database } from '../../../platform/postgres/pool.ts';
import { sealingSettings } from '../../../platform/sealing-settings.ts';
import { parseSettings } from '../../../platform/settings.ts';
import {
  trackBaseSettings,
  trackingSettings,
} from '../../../platform/tracking/tracking-settings.ts';
import {
  migratedDatabase,
  type MigratedDatabase,
} from '../../../platform/postgres/testing/migrated-database.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import type { MessageChunk } from '../../../schemas/records.ts';
import { withBits } from '../chunk/bits.ts';
import { newChunk } from '../chunk/chunk-state.ts';
import type { SenderAnswer } from '../senders/sender-gate.ts';
import type { LeasedChunk } from '../store/chunk-row.ts';
import type { Decision } from '../worker/ports.ts';
import { openRecipients } from './open-recipients.ts';

/** Noon in Tehran. */
const NOON = Date.UTC(2026, 10, 23, 8, 30);
const RUN = 7;
const log = pino({ level: 'silent' });

let store: MigratedDatabase;
let delivery: DeliveryTools;
/** Records of channel.commands. */
let commands: number;

beforeAll(async () => {
  store = await migratedDatabase([
    ...['0001', '0004', '0014', '0050', '0053', '0056', '0060', '0067', '0069'],
  ]);
  await sql(`INSERT INTO accounts (id, name) VALUES (1, 'a')`);
  const config = parseSettings(
    {
      ...{ ...sealingSettings, ...outboundSettings, ...trackingSettings },
      ...{ ...trackBaseSettings, ...shortLinkSettings },
    },
    {
      ...{ EMAIL_TRACK_BASE: 'https://in.example.ir', SHORT_LINK_BASE: 'https://l.example.ir' },
      TRACKING_KEYS: `1:${randomBytes(32).toString('base64')}`,
    },
  );
  delivery = connectDelivery({
    ...{ config, log, database: store.database as Database },
    publisher: {
      publish: (records) => {
        commands += records.length;
        return Promise.resolve([]);
      },
    },
  });
}, 30_000);
afterAll(async () => {
  await delivery.close();
  await store.close();
});
beforeEach(async () => {
  commands = 0;
  for (const table of [
    ...['identity_names', 'channel_consents', 'channel_suppressions', 'announced_opt_outs'],
    ...['message_settings', 'message_caps', 'message_recipients', 'short_links'],
    ...['message_template_missing', 'message_template_versions', 'message_templates'],
    ...['campaign_run_merged', 'message_chunks'],
  ])
    await sql(`DELETE FROM ${table}`);
});

const sql = (text: string, values: unknown[] = []) => store.database.query(text, values);
const rows = async (text: string) => {
  const { rows: found } = await store.database.query<Record<string, unknown>>(text);
  return found;
};

async function addTemplate(channel: Channel, category: string, content: object): Promise<number> {
  const { rows } = await store.database.query<{ id: number }>(
    `INSERT INTO message_templates (account_id, name, channel, category) VALUES (1, 't', $1, $2) RETURNING id`,
    [channel, category],
  );
  const id = rows[0]?.id ?? 0;
  await sql(
    'INSERT INTO message_template_versions (template_id, version, content) VALUES ($1, 1, $2)',
    [...[id, JSON.stringify(content)]],
  );
  return id;
}

const set = (settings: object) =>
  sql('INSERT INTO message_settings (account_id, settings) VALUES (1, $1)', [
    JSON.stringify(settings),
  ]);

function chunkOf(people: readonly string[], control: readonly string[] = []): MessageChunk {
  const recipients = people
    .map((person) => ({
      ...{ key: personKey(person), person_id: person, user_id: person },
      is_control: control.includes(person),
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  return {
    ...{ account_id: 1, campaign_id: 5, run_id: RUN, chunk: 0, planned_at: NOON, recipients },
    first_key: recipients[0]?.key ?? '',
  };
}

interface Opened {
  channel: Channel;
  people: readonly string[];
  control?: readonly string[];
  profiles?: readonly ProfileRow[];
  category?: 'marketing' | 'service';
  templateId: number;
  sender?: OpenSender | undefined;
  now?: number;
  lag?: number;
  revision?: number;
  deadlineAt?: number;
  prepare?: DeliveryTools['prepare'];
  database?: Pick<Database, 'query'>;
  signal?: AbortSignal;
}

async function open(of: Opened) {
  const { channel, people, control, profiles = [], category = 'marketing', templateId } = of;
  const { now = NOON, lag = 0, revision = 0 } = of;
  const chunk = chunkOf(people, control);
  const leased: LeasedChunk = {
    ...{ runId: RUN, chunk: 0, accountId: 1, campaignId: 5, channel, owner: 'o', fence: 1 },
    ...{ record: messageChunkCodec.encode(chunk), openedWith: '', state: newChunk(people.length) },
    run: {
      definition: {
        ...{ name: 'c', channel, template_id: templateId, template_version: 1, category },
        ...{ control_percent: 0, utm: { source: 'ravand' } },
      },
      frozen: { audience: {}, identities_revision: revision },
      ...{ version: 1, isCancelled: false, isHeld: false, deadlineAt: of.deadlineAt },
    },
  };
  const answers: SenderAnswer[] = [];
  let waited = 0;
  const database = of.database ?? store.database;
  const ports = await openRecipients({
    ...{ database, clickhouse: clickhouseWith(profiles) },
    delivery: { ...delivery, ...(of.prepare ? { prepare: of.prepare } : {}) },
    readSettings: messageSettingsReader({ database, now: () => now }),
    consentLag: { read: () => Promise.resolve(lag) },
    consentsWaitedFor: (recipients) => (waited += recipients),
    now: () => now,
  })({
    ...{ leased, sender: 'sender' in of ? of.sender : senderOf(channel) },
    answered: (answer) => answers.push(answer),
    signal: of.signal ?? new AbortController().signal,
  });
  const decide = async (): Promise<Record<string, Decision>> => {
    const decisions = await ports.prepare(chunk.recipients, { chunk });
    return Object.fromEntries(
      chunk.recipients.map(({ person_id }, at) => [person_id, decisions[at] as Decision]),
    );
  };
  return { ...ports, decide, answers, chunk, waited: () => waited };
}

function senderOf(
  channel: Channel,
  send: (message: ProviderMessage, options: { signal: AbortSignal }) => Promise<ProviderAnswer> = (
    message,
  ) => Promise.resolve({ kind: 'accepted', providerMessageId: `id of ${message.messageId}` }),
): OpenSender {
  return {
    provider: {
      ...{ channel, name: 'model', isIdempotent: false, send },
      close: () => Promise.resolve(),
    },
    ...{ limits: { perSecond: undefined, concurrency: 1 }, revision: 3, broken: undefined },
  };
}

const skipped = (reason: string) => ({ kind: 'finish', status: 'skipped', reason });
const mailOf = (name: string, columns: Record<string, string> = {}): ProfileRow => ({
  ...{ name, columns: { email: `${name}@example.ir`, ...columns } },
});
const merge = (canonical: string, names: readonly string[], revision: number) =>
  sql(
    `INSERT INTO identity_names (account_id, name, canonical, revision) SELECT 1, name, $2, $3 FROM unnest($1::text[]) AS n (name)
     ON CONFLICT (account_id, name) DO UPDATE SET canonical = excluded.canonical, revision = excluded.revision`,
    [names, canonical, revision],
  );

const HELLO = { subject: 'سلام {{ user.first_name }}', text: 'https://shop.ir' };

describe('recipients of a chunk', () => {
  it('get a message with tagged links and tracking, or the reason why not', async () => {
    const templateId = await addTemplate('email', 'marketing', HELLO);
    await sql(
      `INSERT INTO channel_consents (account_id, user_id, channel, state, received_at, gateway, sequence) VALUES (1, 'left', 'email', 'unsubscribed', 5, 'g', 5)`,
    );
    await sql(
      `INSERT INTO announced_opt_outs (account_id, user_id, channel, received_at) VALUES (1, 'leaving', 'email', 5)`,
    );
    const people = ['sara', 'left', 'leaving', 'refuses', 'nobody', 'withheld'];
    const columns = (name: string) => (name === 'refuses' ? { email_opt_in: 'false' } : {});
    const known = people.filter((name) => name !== 'nobody');
    const { decide, facts } = await open({
      ...{ channel: 'email', templateId, people, control: ['withheld'] },
      profiles: known.map((name) => mailOf(name, columns(name))),
    });
    expect(facts).toEqual({ templateId, templateVersion: 1, category: 'marketing' });
    const messageId = campaignMessageId({ campaignId: 5, runId: RUN, key: personKey('sara') });
    const decided = await decide();
    expect(decided).toMatchObject({
      sara: {
        kind: 'send',
        message: {
          ...{ userId: 'sara', resolvedAt: NOON, capOf: '' },
          messages: [
            {
              ...{ messageId, to: { kind: 'email', address: 'sara@example.ir' } },
              ...{ expiresAt: NOON + 86_400_000, content: { subject: 'سلام' } },
            },
          ],
        },
      },
      left: skipped('unsubscribed'),
      leaving: skipped('unsubscribed'),
      refuses: skipped('opted_out'),
      nobody: skipped('no_address'),
      withheld: { kind: 'finish', status: 'withheld', reason: 'control_group' },
    });
    const [sent] = decided['sara']?.kind === 'send' ? decided['sara'].message.messages : [];
    expect(sent?.content.text).toContain(`sg_mid=${messageId}`);
    expect(sent?.content.text).toContain('utm_source=ravand');
    expect(sent?.content.text).toContain('https://in.example.ir/e/u/');
    expect(
      await rows('SELECT user_id, campaign_id::int AS campaign FROM message_recipients'),
    ).toEqual([{ user_id: 'sara', campaign: 5 }]);
    await delivery.flush();
    expect(await rows('SELECT variable, messages::int FROM message_template_missing')).toEqual([
      { variable: 'user.first_name', messages: 1 },
    ]);
  });

  it('of a template or sender that is missing are skipped, except the control group', async () => {
    const templateId = await addTemplate('sms', 'marketing', { text: 'x' });
    const of = { people: ['a', 'b'], control: ['b'], profiles: [mailOf('a')] };
    const unknown = await open({ channel: 'email', templateId, ...of });
    expect(await unknown.decide()).toMatchObject({
      ...{ a: skipped('unknown_template'), b: { status: 'withheld' } },
    });
    const unset = await open({ channel: 'sms', templateId, ...of, sender: undefined });
    expect(await unset.decide()).toMatchObject({
      ...{ a: skipped('channel_not_configured'), b: { status: 'withheld' } },
    });
  });

  it('whose message cannot be rendered fail, with the place under the cap to be released', async () => {
    await set({ frequency_cap: '1/24' });
    const content = { subject: 'x', text: '{{ user.first_name }}' };
    const templateId = await addTemplate('email', 'marketing', content);
    const { decide } = await open({
      ...{ channel: 'email', templateId, people: ['a'], profiles: [mailOf('a')] },
    });
    expect(await decide()).toMatchObject({
      a: { kind: 'finish', status: 'failed', reason: 'render_failed', capOf: personKey('a') },
    });
  });

  it('get short links in marketing SMS', async () => {
    const templateId = await addTemplate('sms', 'marketing', { text: 'خرید: https://shop.ir/a' });
    const { decide } = await open({
      ...{ channel: 'sms', templateId, people: ['a'] },
      profiles: [{ name: 'a', columns: { phone: '09121234567' } }],
    });
    const { a } = await decide();
    const [message] = a?.kind === 'send' ? a.message.messages : [];
    expect(message?.content.text).toMatch(/https:\/\/l\.example\.ir\/s\/\w+/);
    expect(await rows('SELECT count(*)::int AS links FROM short_links')).toEqual([{ links: 1 }]);
  });
});

describe('a message that is not rendered yet', () => {
  it('waits, and fails when its run ends before; its place under the cap is to be released', async () => {
    await set({ frequency_cap: 'email:1/24' });
    const templateId = await addTemplate('email', 'marketing', HELLO);
    const prepare: DeliveryTools['prepare'] = ({ messages }) =>
      Promise.resolve(messages.map(() => ({ kind: 'later', afterMs: 60_000 })));
    const of = { channel: 'email', templateId, people: ['a'], profiles: [mailOf('a')] } as const;
    const waiting = await open({ ...of, prepare, deadlineAt: NOON + 60_000 });
    const capOf = personKey('a');
    expect(await waiting.decide()).toEqual({ a: { kind: 'wait', until: NOON + 60_000, capOf } });
    const late = await open({ ...of, prepare, deadlineAt: NOON + 59_999 });
    expect(await late.decide()).toMatchObject({
      a: { kind: 'finish', status: 'failed', reason: 'render_failed', capOf },
    });
    // Another process may have the chunk by now, and its message the place.
    const messageId = campaignMessageId({ campaignId: 5, runId: RUN, key: personKey('a') });
    expect(await rows('SELECT reserved FROM message_caps')).toEqual([
      { reserved: { [messageId]: NOON } },
    ]);
    expect(await (await open(of)).decide()).toMatchObject({ a: { kind: 'send' } });
  });
});

describe('marketing', () => {
  it('waits while nobody knows who has unsubscribed recently; service messages do not', async () => {
    const templateId = await addTemplate('email', 'service', HELLO);
    const of = { people: ['a', 'b'], control: ['b'], profiles: [mailOf('a')], templateId };
    const late = await open({ channel: 'email', ...of, lag: 30_001 });
    expect(await late.decide()).toMatchObject({
      a: { kind: 'wait', until: NOON + 5000 },
      b: { status: 'withheld' },
    });
    expect(late.waited()).toBe(1);
    const service = await open({ channel: 'email', ...of, lag: Infinity, category: 'service' });
    expect(await service.decide()).toMatchObject({ a: { kind: 'send' } });
    const known = await open({ channel: 'email', ...of, lag: 30_000 });
    expect(await known.decide()).toMatchObject({ a: { kind: 'send' } });
  });

  it('is what a template of marketing sends, whatever the campaign says', async () => {
    const templateId = await addTemplate('email', 'marketing', HELLO);
    const { facts, decide } = await open({
      ...{ channel: 'email', templateId, people: ['a'], category: 'service', lag: 60_000 },
    });
    expect(facts.category).toBe('marketing');
    expect(await decide()).toMatchObject({ a: { kind: 'wait' } });
  });

  it('waits for the end of quiet hours', async () => {
    await set({ quiet_hours: '22:00-08:00' });
    const templateId = await addTemplate('email', 'marketing', HELLO);
    const midnight = NOON + 12 * 3_600_000;
    const { decide } = await open({
      ...{ channel: 'email', templateId, people: ['a'], profiles: [mailOf('a')], now: midnight },
    });
    expect(await decide()).toMatchObject({ a: { kind: 'wait', until: midnight + 8 * 3_600_000 } });
  });

  it('takes places under the frequency cap, each message one however often it is prepared', async () => {
    await set({ frequency_cap: 'email:1/24' });
    const templateId = await addTemplate('email', 'marketing', HELLO);
    const of = { templateId, people: ['a'], profiles: [mailOf('a')] };
    const first = await open({ channel: 'email', ...of });
    const sends = { a: { kind: 'send', message: { capOf: personKey('a') } } };
    expect(await first.decide()).toMatchObject(sends);
    expect(await first.decide()).toMatchObject(sends);
    await sql(`UPDATE message_caps SET reserved = '{"other": ${NOON}}'`);
    expect(await first.decide()).toMatchObject({ a: skipped('frequency_cap') });
  });
});

describe('people who were merged after the freeze', () => {
  const people = ['a', 'b'];
  const profiles = [mailOf('a'), mailOf('b')];
  const letTimePass = () =>
    sql(`UPDATE campaign_run_merged SET decided_at = decided_at - interval '15 s'`);

  async function opened(...who: string[]): Promise<void> {
    const chunk = chunkOf(people);
    const indexes = who.map((person) =>
      chunk.recipients.findIndex(({ person_id }) => person_id === person),
    );
    const { opened: none, finished } = newChunk(2);
    await sql(
      `INSERT INTO message_chunks (run_id, chunk, account_id, campaign_id, channel, record, recipients, first_key, opened, finished) VALUES ($1, 0, 1, 5, 'email', $2, 2, $3, $4, $5)
       ON CONFLICT (run_id, chunk) DO UPDATE SET opened = excluded.opened`,
      [
        ...[RUN, messageChunkCodec.encode(chunk), chunk.first_key],
        ...[withBits(none, { set: indexes }), finished],
      ],
    );
  }

  it('get one message, some seconds later', async () => {
    const templateId = await addTemplate('email', 'marketing', HELLO);
    await merge('a', people, 4);
    const { decide } = await open({
      ...{ channel: 'email', templateId, people, profiles, revision: 3 },
    });
    const undecided = Object.values(await decide()).map(({ kind }) => kind);
    expect(undecided.sort()).toEqual(['finish', 'wait']);
    expect(
      Object.values(await decide())
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['finish', 'wait']);
    await letTimePass();
    const decided = Object.values(await decide());
    expect(decided.filter(({ kind }) => kind === 'send')).toHaveLength(1);
    expect(decided).toContainEqual({ ...skipped('merged'), addressHash: '' });
  });

  it('are decided by one that was opened before, whoever was to send', async () => {
    const templateId = await addTemplate('email', 'marketing', HELLO);
    await merge('a', people, 4);
    const { decide } = await open({
      ...{ channel: 'email', templateId, people, profiles, revision: 3 },
    });
    await decide();
    await letTimePass();
    await opened('b');
    expect(await decide()).toMatchObject({ a: skipped('merged'), b: { kind: 'send' } });
    await opened('a');
    expect(await decide()).toMatchObject({ a: { kind: 'send' }, b: skipped('merged') });
    await opened();
    const neither = Object.values(await decide()).map(({ kind }) => kind);
    expect(neither.sort()).toEqual(['finish', 'send']);
  });

  it('are one recipient already when they were merged before it', async () => {
    const templateId = await addTemplate('email', 'marketing', HELLO);
    await merge('a', ['a', 'anonymous'], 3);
    const { decide } = await open({
      ...{ channel: 'email', templateId, people: ['a'], profiles, revision: 3 },
    });
    expect(await decide()).toMatchObject({ a: { kind: 'send' } });
    expect(await rows('SELECT * FROM campaign_run_merged')).toEqual([]);
  });
});

it('recipients who cannot be looked up are not decided', async () => {
  const templateId = await addTemplate('email', 'marketing', HELLO);
  let isDown = false;
  const database = {
    query: (...of: Parameters<Database['query']>) =>
      isDown ? Promise.reject(new Error('down')) : store.database.query(...of),
  } as Pick<Database, 'query'>;
  const { decide } = await open({
    ...{ channel: 'email', templateId, people: ['a'], profiles: [mailOf('a')], database },
  });
  isDown = true;
  await expect(decide()).rejects.toThrow('down');
  isDown = false;
  expect(await decide()).toMatchObject({ a: { kind: 'send' } });
});

describe('a call', () => {
  const call = async (answer: ProviderAnswer | Error, more: Partial<OpenSender> = {}) => {
    const templateId = await addTemplate('email', 'service', HELLO);
    const send = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer));
    const opened = await open({
      ...{ channel: 'email', templateId, people: ['a'], profiles: [mailOf('a')] },
      sender: { ...senderOf('email', send), ...more },
    });
    const { a } = await opened.decide();
    if (a?.kind !== 'send') throw new Error('nothing is sent');
    const answered = await opened.call({ index: 0, message: a.message });
    return [answered, ...opened.answers];
  };
  const text = { reason: 'r', detail: 'd' };

  it.each([
    [
      { kind: 'accepted', providerMessageId: 'p' } as const,
      [{ kind: 'sent', providerMessageId: 'p' }, { kind: 'working' }],
    ],
    [
      { kind: 'rejected', reason: 'too_large', detail: '' } as const,
      [{ kind: 'failed', reason: 'too_large' }, { kind: 'working' }],
    ],
    [
      { kind: 'retry', afterMs: 900, ...text } as const,
      [
        { kind: 'retry', afterMs: 900 },
        { kind: 'failing', afterMs: 900 },
      ],
    ],
    [{ kind: 'broken', ...text } as const, [{ kind: 'retry' }, { kind: 'broken' }]],
    [{ kind: 'unknown', ...text } as const, [{ kind: 'unknown' }, { kind: 'failing' }]],
    [new Error('a defect of the provider'), [{ kind: 'unknown' }, { kind: 'failing' }]],
  ])('is answered %o as the worker and the limits of the sender know it', async (answer, known) => {
    expect(await call(answer)).toEqual(known);
  });

  it('that the provider does not end is given up when the process ends', async () => {
    const templateId = await addTemplate('email', 'service', HELLO);
    const ending = new AbortController();
    const opened = await open({
      ...{ channel: 'email', templateId, people: ['a'], profiles: [mailOf('a')] },
      ...{ sender: senderOf('email', () => new Promise(() => undefined)), signal: ending.signal },
    });
    const { a } = await opened.decide();
    if (a?.kind !== 'send') throw new Error('nothing is sent');
    const answered = opened.call({ index: 0, message: a.message });
    ending.abort();
    expect(await answered).toEqual({ kind: 'unknown' });
  });

  it('reports an address that is dead', async () => {
    expect(await call({ kind: 'dead_address', ...text })).toMatchObject([
      ...[{ kind: 'failed', reason: 'dead_address' }, { kind: 'working' }],
    ]);
    expect(commands).toBe(1);
  });

  it('marks a sender that is refused, and that it works again', async () => {
    await sql(
      `INSERT INTO message_senders (account_id, channel, provider, config, revision) VALUES (1, 'email', 'model', '{}', 3)`,
    );
    const reason = async () => (await rows('SELECT broken_reason FROM message_senders'))[0];
    await call({ kind: 'broken', ...text });
    await expect.poll(reason).toEqual({ broken_reason: 'r: d' });
    const accepted = { kind: 'accepted', providerMessageId: 'p' } as const;
    await call(accepted, { broken: { reason: 'r', at: 1 } });
    await expect.poll(reason).toEqual({ broken_reason: '' });
    await sql('DELETE FROM message_senders');
  });
});
