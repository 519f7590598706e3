import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withKafkaAdmin } from '../../../platform/kafka/admin.ts';
import kafkajs from 'kafkajs';
import { kafkajsConnection, type KafkaSettings } from '../../../platform/kafka/connection.ts';
import { connectProducer } from '../../../platform/kafka/producer.ts';
import { readRange } from '../../../platform/kafka/read-range.ts';
import { createLog } from '../../../platform/log.ts';
import { kafkaSettings } from '../../../platform/settings-common.ts';
import { parseSettings } from '../../../platform/settings.ts';
import { makeAuthority, type Authority } from '../../support/connections/certificates.ts';
import { KAFKA_PASSWORD, KAFKA_USER, SecureKafka } from '../../support/connections/secure-kafka.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  SHORT_SCOPE,
  TokenServer,
} from '../../support/connections/token-server.ts';
import { eventually } from '../../support/stack.ts';

const TOPIC = 'connections';

const folder = mkdtempSync(join(tmpdir(), 'ravand-kafka-tls-'));
const log = createLog({ part: 'test', level: 'fatal' });
let authority: Authority;
let tokens: TokenServer;
let kafka: SecureKafka;

beforeAll(async () => {
  authority = makeAuthority(folder);
  tokens = await TokenServer.start(authority.issue('tokens'));
  kafka = await SecureKafka.start({
    ...{ folder, authority, jwks: tokens.jwks },
  });
  await withKafkaAdmin(withPassword('PLAIN'), (admin) =>
    admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 1 }] }),
  );
});
afterAll(async () => {
  await kafka.stop();
  tokens.close();
  rmSync(folder, { recursive: true, force: true });
});

const withTls = (env: Readonly<Record<string, string>>): KafkaSettings =>
  parseSettings(kafkaSettings, {
    ...{ KAFKA_BROKERS: kafka.addresses.sasl, KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: authority.ca },
    ...env,
  });
const withPassword = (mechanism: string, env: Readonly<Record<string, string>> = {}) => {
  const secret = join(folder, 'password');
  writeFileSync(secret, `${KAFKA_PASSWORD}\n`);
  return withTls({
    ...{ KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: KAFKA_USER },
    ...{ KAFKA_SASL_PASSWORD_FILE: secret, ...env },
  });
};
const withTokens = (secret = CLIENT_SECRET, env: Readonly<Record<string, string>> = {}) =>
  withTls({
    ...{ KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_OAUTH_TOKEN_URL: tokens.url },
    ...{ KAFKA_OAUTH_CLIENT_ID: CLIENT_ID, KAFKA_OAUTH_CLIENT_SECRET: secret },
    ...{ KAFKA_OAUTH_CA_FILE: authority.ca, ...env },
  });

const producerOf = (settings: KafkaSettings, connectTimeout = 10_000) =>
  connectProducer({
    ...{ settings, log, clientId: 'test', timeout: 10_000, connectTimeout, linger: 0 },
    ...{ pollInterval: 5, maxQueued: { records: 100, bytes: 1e6 } },
  });
const record = (value: string) => ({
  ...{ topic: TOPIC, partition: 0, key: null, value: Buffer.from(value) },
});

/** One record through librdkafka's producer and consumer, found by kafkajs. */
async function useBothClients(settings: KafkaSettings): Promise<string> {
  const producer = await producerOf(settings);
  let offset: number;
  try {
    offset = await producer.publish(record(`by ${settings.KAFKA_SASL_MECHANISM}`));
  } finally {
    await producer.close(5000);
  }
  const ends = await withKafkaAdmin(settings, (admin) => admin.fetchTopicOffsets(TOPIC));
  expect(Number(ends[0]?.high)).toBeGreaterThan(offset);
  const range = { topic: TOPIC, partition: 0, from: offset, to: offset + 1 };
  const signal = AbortSignal.timeout(20_000);
  for await (const [message] of readRange({ range, signal, settings, clientId: 'test' }))
    return message?.value?.toString() ?? '';
  return '';
}

describe('both clients of Kafka connect with TLS', () => {
  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])(
    'and SASL %s, with the password from a file',
    async (mechanism) => {
      expect(await useBothClients(withPassword(mechanism))).toBe(`by ${mechanism}`);
    },
  );

  it('and a client certificate', async () => {
    const { cert, key } = authority.issue('client');
    const settings = withTls({
      KAFKA_BROKERS: kafka.addresses.mutual,
      ...{ KAFKA_TLS_CERT_FILE: cert, KAFKA_TLS_KEY_FILE: key },
    });
    expect(await useBothClients(settings)).toBe('by ');
  });

  it('and a token of an authorization server', async () => {
    expect(await useBothClients(withTokens())).toBe('by OAUTHBEARER');
  });

  it('and a token that something else writes into a file', async () => {
    const path = join(folder, 'token');
    writeFileSync(path, `${tokens.token(600)}\n`);
    const settings = withTls({
      ...{ KAFKA_SASL_MECHANISM: 'OAUTHBEARER', KAFKA_OAUTH_TOKEN_PATH: path },
    });
    expect(await useBothClients(settings)).toBe('by OAUTHBEARER');
  });
});

it('a producer renews its token before it expires, and publishes on after the first one has', async () => {
  const producer = await producerOf(withTokens(CLIENT_SECRET, { KAFKA_OAUTH_SCOPE: SHORT_SCOPE }));
  const before = tokens.given;
  try {
    await producer.publish(record('first'));
    await eventually({ ms: 30_000, every: 200, waitingFor: 'two further tokens' }, () =>
      Promise.resolve(tokens.given >= before + 2 || undefined),
    );
    expect(await producer.publish(record('later'))).toBeGreaterThan(0);
  } finally {
    await producer.close(5000);
  }
});

it('both clients reach a broker whose address is an IPv6 literal', async () => {
  const env = { KAFKA_BROKERS: kafka.addresses.plain6 };
  expect(await useBothClients(parseSettings(kafkaSettings, env))).toBe('by ');
});

describe('neither client connects', () => {
  const refused = async (settings: KafkaSettings) => {
    await expect(producerOf(settings, 1000)).rejects.toThrow();
    // withKafkaAdmin retries for a while
    const once = { ...kafkajsConnection(settings, 'test'), retry: { retries: 0 } };
    const admin = new kafkajs.Kafka(once).admin();
    await expect(admin.connect()).rejects.toThrow();
    await admin.disconnect();
  };

  it('to a broker of an authority that it does not know', async () => {
    const other = makeAuthority(folder, 'other');
    await refused(withPassword('PLAIN', { KAFKA_TLS_CA_FILE: other.ca }));
  });

  it('without the client certificate that the broker asks for', async () => {
    await refused(withTls({ KAFKA_BROKERS: kafka.addresses.mutual }));
  });

  it('when the authorization server refuses the client, and the error names the settings', async () => {
    const settings = withTokens('wrong', { KAFKA_OAUTH_CLIENT_ID: 'somebody' });
    await expect(producerOf(settings, 3000)).rejects.toThrow(
      /KAFKA_OAUTH_TOKEN_URL.*401, invalid_client; check KAFKA_OAUTH_CLIENT_ID/,
    );
  });
});
