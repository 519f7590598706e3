import { randomInt } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { LogPublisher } from '../../ingest/log-publisher.ts';
import {
  connectDelivery,
  type DeliverySettings,
} from '../../messaging/delivery/connect-delivery.ts';
import { connectConsentLag, type ConsentLag } from '../../messaging/recipients/consent-lag.ts';
import { recipientResolver } from '../../messaging/recipients/recipient-resolver.ts';
import { STAGES, type TransactionalPorts } from '../../messaging/transactional/ports.ts';
import { TransactionalSender } from '../../messaging/transactional/transactional-sender.ts';
import { TransactionalStore } from '../../messaging/transactional/transactional-store.ts';
import { delay } from '../../platform/backoff.ts';
import { connectClickhouse } from '../../platform/clickhouse/client.ts';
import type { Log } from '../../platform/log.ts';
import { metricsOf } from '../../platform/metrics.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { connectPostgres } from '../../platform/postgres/pool.ts';
import type { CountInMinute } from '../limits/minute-counter.ts';
import type { clickhouseSettings, postgresSettings } from '../../platform/settings-common.ts';
import type { SettingsOf } from '../../platform/settings.ts';
import type { messageRequestSettings } from '../settings.ts';
import type { Messages } from '../services.ts';
import { newestTemplates } from './newest-templates.ts';
import { messageRate } from './rate-limit.ts';

interface MessagesOptions {
  config: KafkaSettings &
    SettingsOf<
      typeof clickhouseSettings & typeof postgresSettings & typeof messageRequestSettings
    > &
    DeliverySettings;
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
    ...{
      url: config.DATABASE_URL,
      size: config.DATABASE_POOL_SIZE,
      log,
      name,
      max: CONNECTIONS.postgres,
    },
  });
  const clickhouse = connectClickhouse({
    ...{ settings: config, name, requestTimeout: 10_000, connections: CONNECTIONS.clickhouse },
  });
  const store = new TransactionalStore(database, {
    staleMs: config.API_STALE_RESERVATION,
    retentionMs: config.API_IDEMPOTENCY_RETENTION,
  });
  const { senders, prepare, reports, ...delivery } = connectDelivery({
    ...{ config, log, database, publisher: options.publisher },
  });
  const consents = connectConsentLag({ settings: config, name, log, now: Date.now });
  const sender = new TransactionalSender({
    store,
    template: newestTemplates(database),
    resolve: recipientResolver({ database, clickhouse }),
    sender: (accountId, channel) => senders.open(accountId, channel),
    consentLag: () => knownLag(consents),
    prepare,
    reports: {
      ...reports,
      problem: (error, { accountId, code }) =>
        log.warn(
          { err: error, code, account_id: accountId },
          'a transactional message could not be sent or stored as it should',
        ),
    },
    measured: stageTimes(registry),
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
    repeat({ everyMs: FLUSH_MS, log, signal: closing.signal }, delivery.flush),
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
      await delivery.close();
      await Promise.all([database.end(), clickhouse.close(), consents.close()]);
    },
  };
}

/** The first question connects to Kafka, which may take longer than one look. */
const LOOKS = 3;

async function knownLag(consents: Pick<ConsentLag, 'read'>): Promise<number> {
  for (let look = 1; ; look++) {
    const lag = await consents.read();
    if (lag !== Infinity || look === LOOKS) return lag;
  }
}

function stageTimes(registry: Registry): TransactionalPorts['measured'] {
  const times = metricsOf(registry).histogram(
    'ravand_transactional_stage_seconds',
    'What messages of POST /v1/messages waited for: template (its newest version), resolve (looking the recipient up), prepare (rendering), open (reserving the idempotency key and recording the attempt), call (the provider), complete (storing the result).',
    { buckets: [0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 1, 5, 30], labels: ['stage'] },
  );
  for (const stage of STAGES) times.zero({ stage });
  return (stage, ms) => times.observe({ stage }, ms / 1000);
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
        log.debug({ err: error }, 'housekeeping of messages failed; it is tried again later'),
      );
  }
}
