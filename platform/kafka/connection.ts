import kafkajs, { type KafkaConfig, type SASLOptions } from 'kafkajs';
import type { kafkaSettings } from '../settings-common.ts';
import type { SettingsOf } from '../settings.ts';
import { checkQueuesWhenRequestsWait, checkTimeoutsRarely } from './kafkajs-queue.ts';

checkQueuesWhenRequestsWait();
checkTimeoutsRarely();

export type KafkaSettings = SettingsOf<typeof kafkaSettings>;

/** Connection part of a librdkafka configuration. */
export function rdkafkaConnection(
  settings: KafkaSettings,
): Record<string, string | number | boolean> {
  const sasl = settings.KAFKA_SASL_MECHANISM;
  const protocol = `${sasl === '' ? '' : 'sasl_'}${settings.KAFKA_TLS ? 'ssl' : 'plaintext'}`;
  return {
    'metadata.broker.list': settings.KAFKA_BROKERS.join(','),
    'security.protocol': protocol,
    ...(sasl === ''
      ? {}
      : {
          'sasl.mechanisms': sasl,
          'sasl.username': settings.KAFKA_SASL_USERNAME,
          'sasl.password': settings.KAFKA_SASL_PASSWORD,
        }),
    'reconnect.backoff.ms': 100,
    'reconnect.backoff.max.ms': 2000,
    'socket.keepalive.enable': true,
    'socket.nagle.disable': true,
    'broker.address.family': 'v4',
    log_level: 3,
  };
}

/** The same connection for kafkajs, which is used for administration only. */
export function kafkajsConnection(settings: KafkaSettings, clientId: string): KafkaConfig {
  const mechanism = settings.KAFKA_SASL_MECHANISM;
  const login = { username: settings.KAFKA_SASL_USERNAME, password: settings.KAFKA_SASL_PASSWORD };
  return {
    clientId,
    brokers: [...settings.KAFKA_BROKERS],
    ssl: settings.KAFKA_TLS,
    ...(mechanism === ''
      ? {}
      : { sasl: { mechanism: mechanism.toLowerCase(), ...login } as SASLOptions }),
    connectionTimeout: 3000,
    requestTimeout: 10_000,
    retry: { initialRetryTime: 200, maxRetryTime: 2000, retries: 8 },
    logLevel: kafkajs.logLevel.NOTHING,
  };
}
