import { trustedProxySettings } from '../platform/network/client-address.ts';
import {
  dedupeSettings,
  kafkaSettings,
  postgresSettings,
  processSettings,
  redisSettings,
  topicSettings,
} from '../platform/settings-common.ts';
import * as setting from '../platform/setting-kinds.ts';
import { defineSettings, type Setting, type SettingsOf } from '../platform/settings.ts';
import { sealingSettings } from '../platform/sealing-settings.ts';
import { trackingSettings } from '../platform/tracking/tracking-settings.ts';

const MIB = 1024 * 1024;
/**
 * A record of the log has at most 16 MiB: one holds a body and the decisions about its events.
 */
const MAX_BODY_BYTES = 14 * MIB;
/** What a record of the log may have besides a body, bytes. */
export const RECORD_OVERHEAD = 2 * MIB;

const bodyBytes = setting.bytes({
  default: 5 * MIB,
  min: 1,
  doc: 'Largest request body, as sent and as decoded; above it the answer is 413. At most 14 MiB.',
});

/** Settings of the ingest host. */
export const settings = defineSettings({
  ...processSettings,
  ...kafkaSettings,
  ...postgresSettings,
  ...redisSettings,
  ...dedupeSettings,
  ...sealingSettings,
  ...trackingSettings,
  CLAIM_PENDING: setting.duration({
    default: 0,
    doc: 'How long a claim is pending while its event is published; 0: claims are written after events are durable, at half the cost and with the same rows (docs/deduplication.md).',
  }),
  RECENT_IDS_MAX_BYTES: setting.bytes({
    default: 64 * MIB,
    doc: 'Memory for the message ids of SDK events that this process made durable; they are what it reports as duplicates, 17 to 46 bytes each. One account takes 27 % at most. 0, or CLAIM_PENDING: Redis is asked about each event instead, at 10 µs of its CPU, and duplicates that other gateways know are reported too.',
  }),
  EVENTS_PARTITIONS: topicSettings.EVENTS_PARTITIONS,
  HTTP_ADDR: setting.address({
    default: { host: 'localhost', port: 8080 },
    doc: 'Listener of the ingest host.',
  }),
  MAX_BODY_BYTES: {
    ...bodyBytes,
    parse: (text: string) => {
      const bytes = bodyBytes.parse(text);
      if (bytes > MAX_BODY_BYTES)
        throw new Error('at most 14 MiB, which fits into a record of the log');
      return bytes;
    },
  } satisfies Setting<number>,
  WRITE_KEY_CACHE: setting.duration({
    default: 60_000,
    doc: 'How long a write key is cached, known or unknown; a revocation takes effect after this time.',
  }),
  ...trustedProxySettings,
  SPOOL_DIR: setting.text({
    default: '.ravand/spool',
    doc: 'Folder of the disk spool, one per gateway process; relative to the working directory. Must survive a restart.',
    unit: 'path',
  }),
  SPOOL_MAX_BYTES: setting.bytes({
    default: 1024 * MIB,
    min: 1,
    doc: 'Limit of the spool while Kafka is unavailable; when it is full, events are answered 503. One account takes three quarters of it at most, and less while others have some.',
  }),
  PUBLISH_TIMEOUT: setting.duration({
    default: 3000,
    min: 100,
    doc: 'When Kafka acknowledges nothing of a partition for this time though records wait for it, these and all later ones go to the spool: those of the partition while others are acknowledged, otherwise all.',
  }),
  PUBLISH_LINGER: setting.duration({
    default: 2,
    doc: 'How long records wait for others: half of it for raw records of the same partition, which become one record of Kafka, and half of it in the client of Kafka to fill a request, which costs more than the records in it.',
  }),
  PUBLISH_MAX_IN_FLIGHT_BYTES: setting.bytes({
    default: 64 * MIB,
    min: 1,
    doc: 'Limit of bytes without an acknowledgement of Kafka. Above it, as many bytes wait in memory, accounts in turns; then records are answered 503. Buffers take an eighth more, and 16 MiB that wait to be used again.',
  }),
  MAX_REQUESTS_IN_FLIGHT: setting.integer({
    default: 10_000,
    min: 1,
    doc: 'Limit of concurrent requests; further ones are answered 503.',
  }),
  MAX_CONNECTIONS: setting.integer({
    default: 0,
    doc: 'Limit of open connections; for further ones, those are closed that have waited for their clients longest. 0: 10,000, or fewer when the descriptor limit of the process does not leave 256 for spool, Kafka and databases.',
  }),
  FAST_PATH: setting.flag({
    default: true,
    doc: 'Whether common requests are read without node:http, at a third of the cost; false serves every request through node:http, with the same answers.',
  }),
  PUSH_ENABLED: setting.flag({
    default: false,
    doc: 'Whether devices can be registered for push (POST /v1/devices): the route exists only where messages can be sent to them. `./ravand up` switches it on.',
  }),
  SDK_DIR: setting.text({
    default: '',
    doc: 'Folder that sdk/build.ts made: its files are served under /sdk/, read at the start. Empty: none are served. `./ravand up` makes one.',
    unit: 'path',
  }),
  MAX_BODIES_IN_FLIGHT_BYTES: setting.bytes({
    default: 128 * MIB,
    min: 1,
    doc: 'Limit of request bodies in memory, as decoded; above it the answer is 503. One account holds half of it at most, and less while others hold some. The process takes up to four times as much.',
  }),
});

export type Config = SettingsOf<typeof settings>;
