import kafkajs, { type ISocketFactory, type KafkaConfig, type SASLOptions } from 'kafkajs';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { kafkaSettings } from '../settings-common.ts';
import type { SettingsOf } from '../settings.ts';
import { readTlsFiles, tlsPaths } from '../tls-files.ts';
import { checkQueuesWhenRequestsWait, checkTimeoutsRarely } from './kafkajs-queue.ts';
import { tokensOf } from './tokens.ts';

checkQueuesWhenRequestsWait();
checkTimeoutsRarely();

export type KafkaSettings = SettingsOf<typeof kafkaSettings>;

/** librdkafka accepts no shorter one, ms. */
const MIN_CONNECT_MS = 1000;

/**
 * Connection part of a librdkafka configuration. With OAUTHBEARER the client also needs tokens
 * (authenticate.ts).
 */
export function rdkafkaConnection(
  settings: KafkaSettings,
): Record<string, string | number | boolean> {
  const sasl = settings.KAFKA_SASL_MECHANISM;
  const protocol = `${sasl === '' ? '' : 'sasl_'}${settings.KAFKA_TLS ? 'ssl' : 'plaintext'}`;
  return {
    'metadata.broker.list': settings.KAFKA_BROKERS.join(','),
    'security.protocol': protocol,
    ...(settings.KAFKA_TLS ? rdkafkaTls(settings) : {}),
    ...(sasl === '' ? {} : { 'sasl.mechanisms': sasl }),
    ...(sasl === '' || sasl === 'OAUTHBEARER'
      ? {}
      : {
          'sasl.username': settings.KAFKA_SASL_USERNAME,
          'sasl.password': settings.KAFKA_SASL_PASSWORD,
        }),
    'reconnect.backoff.ms': 100,
    'reconnect.backoff.max.ms': 2000,
    'socket.keepalive.enable': true,
    'socket.nagle.disable': true,
    ...(settings.KAFKA_CONNECT_TIMEOUT === 0
      ? {}
      : {
          'socket.connection.setup.timeout.ms': Math.max(
            MIN_CONNECT_MS,
            settings.KAFKA_CONNECT_TIMEOUT,
          ),
        }),
    ...(settings.KAFKA_REQUEST_TIMEOUT === 0
      ? {}
      : { 'socket.timeout.ms': settings.KAFKA_REQUEST_TIMEOUT }),
    'broker.address.family': settings.KAFKA_ADDRESS_FAMILY,
    log_level: 3,
  };
}

function rdkafkaTls(settings: KafkaSettings): Record<string, string> {
  const { ca, cert, key, password } = tlsPaths(settings, 'KAFKA');
  return {
    'ssl.endpoint.identification.algorithm': 'https',
    ...(ca === '' ? {} : { 'ssl.ca.location': ca }),
    ...(cert === '' ? {} : { 'ssl.certificate.location': cert, 'ssl.key.location': key }),
    ...(password === '' ? {} : { 'ssl.key.password': password }),
  };
}

/** The same connection for kafkajs, which is used for administration only. */
export function kafkajsConnection(settings: KafkaSettings, clientId: string): KafkaConfig {
  const sasl = saslOptions(settings);
  return {
    clientId,
    brokers: settings.KAFKA_BROKERS.map(withoutColons),
    ssl: settings.KAFKA_TLS && readTlsFiles(tlsPaths(settings, 'KAFKA')),
    ...(sasl ? { sasl } : {}),
    socketFactory: socketFactory(settings.KAFKA_ADDRESS_FAMILY),
    connectionTimeout: settings.KAFKA_CONNECT_TIMEOUT || 3000,
    requestTimeout: settings.KAFKA_REQUEST_TIMEOUT || 10_000,
    retry: { initialRetryTime: 200, maxRetryTime: 2000, retries: 8 },
    logLevel: kafkajs.logLevel.NOTHING,
  };
}

function saslOptions(settings: KafkaSettings): SASLOptions | undefined {
  const tokens = tokensOf(settings);
  if (tokens)
    return {
      mechanism: 'oauthbearer',
      oauthBearerProvider: async () => ({ value: await tokens.token() }),
    };
  const mechanism = settings.KAFKA_SASL_MECHANISM.toLowerCase();
  if (mechanism === '') return undefined;
  const login = { username: settings.KAFKA_SASL_USERNAME, password: settings.KAFKA_SASL_PASSWORD };
  return { mechanism, ...login } as SASLOptions;
}

const FAMILIES = { any: 0, v4: 4, v6: 6 } as const;
const KEEP_ALIVE_MS = 60_000;

/**
 * kafkajs splits a broker at its first colons into host and port: those of an IPv6 address are
 * written as underscores, which the socket factory reads.
 */
function withoutColons(broker: string): string {
  return broker.replace(/\[([^\]]*)\]/, (address) => address.replaceAll(':', '_'));
}

/** The sockets of kafkajs, of one address family. */
function socketFactory(family: keyof typeof FAMILIES): ISocketFactory {
  return ({ host: given, port, ssl, onConnect }) => {
    const host = given.startsWith('[') ? given.slice(1, -1).replaceAll('_', ':') : given;
    const to = { host, port, family: FAMILIES[family] };
    // kafkajs passes an empty object for TLS without files of its own
    const socket = (ssl as unknown)
      ? connectTls({ ...to, ...(isIP(host) ? {} : { servername: host }), ...ssl }, onConnect)
      : connect(to, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    return socket;
  };
}
