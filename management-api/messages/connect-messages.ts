import { randomBytes, randomInt } from 'node:crypto';
import type { Registry } from 'prom-client';
import { CommandWriter } from '../../ingest/command-writer.ts';
import type { LogPublisher } from '../../ingest/log-publisher.ts';
import { prepareMessages, type PrepareDeps } from '../../messaging/delivery/prepare-messages.ts';
import { reportDeadAddresses } from '../../messaging/delivery/report-dead-addresses.ts';
import { openProvider } from '../../messaging/providers/registry.ts';
import { recipientResolver } from '../../messaging/recipients/recipient-resolver.ts';
import { tagLinks } from '../../messaging/links/tag-links.ts';
import { TemplateRenderer } from '../../messaging/rendering/template-renderer.ts';
import { SenderStore } from '../../messaging/senders/sender-store.ts';
import { Senders } from '../../messaging/senders/senders.ts';
import { MissingVariables } from '../../messaging/templates/missing-variables.ts';
import type { TransactionalPorts } from '../../messaging/transactional/ports.ts';
import { TransactionalSender } from '../../messaging/transactional/transactional-sender.ts';
import { TransactionalStore } from '../../messaging/transactional/transactional-store.ts';
import { delay } from '../../platform/backoff.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import { GroupedCalls } from '../../platform/grouped-calls.ts';
import type { Log } from '../../platform/log.ts';
import { metricsOf } from '../../platform/metrics.ts';
import { outboundGuard } from '../../platform/outbound/outbound-settings.ts';
import { connectPostgres, type Database } from '../../platform/postgres/pool.ts';
import {
  addMessageRecipients,
  type MessageRecipient,
} from '../../platform/tracking/message-recipients.ts';
import type { CountInMinute } from '../budget/minute-counter.ts';
import type { Config } from '../config.ts';
import type { Messages } from '../services.ts';
import { newestTemplates } from './newest-templates.ts';
import { messageRate } from './rate-limit.ts';

interface MessagesOptions {
  config: Config;
  name: string;
  log: Log;
  registry: Registry;
  count: CountInMinute;
  publisher: Pick<LogPublisher, 'publish'>;
}

/** Statements of different kinds run at the same time, each kind grouped. */
const CONNECTIONS = { postgres: 8, clickhouse: 4 };
const SWEEP = { everyMs: 60_000, keys: 5000 };
const FLUSH_MS = 30_000;

/** What POST /v1/messages needs, over connections of its own: nothing else delays a message. */
export function connectMessages(options: MessagesOptions): {
  messages: Messages;
  /** Finishes what was begun, in `ms`. */
  close: (ms: number) => Promise<void>;
} {
  const { config, log, registry, count } = options;
  const name = `${options.name}-messages`;
  const database = connectPostgres({
    ...{ url: config.DATABASE_URL, log, name, max: CONNECTIONS.postgres },
  });
  const clickhouse = connectClickhouse({
    ...{ settings: config, name, requestTimeout: 10_000, connections: CONNECTIONS.clickhouse },
  });
  const store = new TransactionalStore(database, {
    staleMs: config.API_STALE_RESERVATION,
    retentionMs: config.API_IDEMPOTENCY_RETENTION,
  });
  const senderStore = new SenderStore(database);
  const senders = openSenders({ config, log, database, senderStore });
  const missing = new MissingVariables(database);
  const renderer = openRenderer(log);
  const sender = new TransactionalSender({
    store,
    template: newestTemplates(database),
    resolve: recipientResolver({ database, clickhouse }),
    sender: (accountId, channel) => senders.open(accountId, channel),
    prepare: messagePreparer({ config, database, renderer }),
    reports: reportsOf({ ...options, senderStore, missing }),
    ...{ now: Date.now, random: Math.random, wait: (ms) => delay(ms) },
    newFence: () => randomInt(1, 2 ** 48 - 1),
  });
  metricsOf(registry).collected(
    'ravand_transactional_unstored',
    'Results of transactional messages that PostgreSQL has not stored yet.',
    { collect: (gauge) => gauge.set(sender.unstored) },
  );
  const closing = new AbortController();
  const chores = [
    repeat({ everyMs: SWEEP.everyMs, log, signal: closing.signal }, () => sweepAll(store)),
    repeat({ everyMs: FLUSH_MS, log, signal: closing.signal }, () => missing.flush()),
  ];
  return {
    messages: {
      send: (request) => sender.send(request),
      checkRate: messageRate({ database, count, defaultLimit: config.API_RATE_PER_MINUTE, log }),
    },
    close: async (ms) => {
      await sender.close(ms);
      closing.abort();
      await Promise.all(chores);
      await missing.flush().catch(() => undefined);
      await Promise.all([senders.close(), renderer.close()]);
      await Promise.all([database.end(), clickhouse.close()]);
    },
  };
}

function openSenders({
  config,
  log,
  database,
  senderStore,
}: {
  config: Config;
  log: Log;
  database: Database;
  senderStore: SenderStore;
}): Senders {
  const guard = outboundGuard(config);
  const deps = { guard, database, log, now: Date.now, random: Math.random };
  return new Senders({
    store: senderStore,
    sealer: config.SEALING_KEY,
    open: ({ secret = '', ...sender }) => openProvider({ ...sender, secret, deps }),
    now: () => performance.now(),
  });
}

function openRenderer(log: Log): TemplateRenderer {
  return new TemplateRenderer({
    now: () => performance.now(),
    onStopped: ({ accountId, templateId, version }, why) =>
      log.warn(
        {
          ...{ code: 'template_stopped', account_id: accountId },
          ...{ template_id: templateId, version, reason: why },
        },
        'a message was not rendered: its template took too much',
      ),
  });
}

function messagePreparer({
  config,
  database,
  renderer,
}: Pick<MessagesOptions, 'config'> & {
  database: Database;
  renderer: TemplateRenderer;
}): TransactionalPorts['prepare'] {
  const recipients = new GroupedCalls<MessageRecipient, true>({
    run: async (all) => {
      await addMessageRecipients(database, all);
      return all.map(() => true);
    },
  });
  const { TRACKING_KEYS: tokens, EMAIL_TRACK_BASE: base } = config;
  const deps: PrepareDeps = {
    render: (template, variables) => renderer.renderMany(template, variables),
    tagLinks,
    // Only links of marketing are shortened; none is sent here.
    shortenLinks: (_, contents) => Promise.resolve(contents),
    tracking: tokens && base !== '' ? { tokens, baseUrl: base.replace(/\/+$/, '') } : undefined,
    addRecipients: async (all) => {
      await Promise.all(all.map((one) => recipients.call(one)));
    },
  };
  return (of) => prepareMessages(deps, of);
}

function reportsOf({
  log,
  publisher,
  senderStore,
  missing,
}: MessagesOptions & {
  senderStore: SenderStore;
  missing: MissingVariables;
}): TransactionalPorts['reports'] {
  const writer = new CommandWriter({
    // What is not acknowledged may be in the log, or not.
    publish: (records) => publisher.publish(records).catch(() => records),
    gateway: randomBytes(8).toString('hex'),
  });
  const warn = (code: string, message: string) => (error: unknown) =>
    log.warn({ err: error, code }, message);
  return {
    dead: (of) => {
      void reportDeadAddresses(writer, of).then((lost) => {
        if (lost > 0)
          log.warn(
            { code: 'dead_addresses_unreported', account_id: of.accountId, count: lost },
            'addresses that a provider calls dead could not be reported; the next message to them does',
          );
      });
    },
    broken: (sender, reason) => {
      senderStore
        .markBroken(sender, reason)
        .catch(warn('sender_unmarked', 'a sender that its provider refuses could not be marked'));
    },
    working: (sender) => {
      senderStore
        .markWorking(sender)
        .catch(warn('sender_unmarked', 'a sender that works again could not be marked'));
    },
    missing: (template, names) => missing.count(template, names),
    problem: (error, { accountId, code }) =>
      log.warn(
        { err: error, code, account_id: accountId },
        'a transactional message could not be sent or stored as it should',
      ),
  };
}

/** Removes every key whose time is over. */
async function sweepAll(store: TransactionalStore): Promise<void> {
  while ((await store.sweep(SWEEP.keys)) === SWEEP.keys);
}

/** Until the signal aborts. Never rejects. */
async function repeat(
  { everyMs, log, signal }: { everyMs: number; log: Log; signal: AbortSignal },
  chore: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const isDue = await delay(everyMs, signal).then(
      () => true,
      () => false,
    );
    if (isDue)
      await chore().catch((error: unknown) =>
        log.debug({ err: error }, 'a chore of messages failed; it is done again later'),
      );
  }
}
