import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../service-process.ts';
import { Aborted, eventually } from '../stack.ts';
import type { Authority } from './certificates.ts';
import { listens } from './listens.ts';
import { OwnProcess } from './own-process.ts';

const run = promisify(execFile);

export const KAFKA_USER = 'alice';
export const KAFKA_PASSWORD = 'broker-secret';

const PACKAGE = 'org.apache.kafka.common.security';
const LOGIN = `username="${KAFKA_USER}" password="${KAFKA_PASSWORD}"`;
const LOGINS: Readonly<Record<string, string>> = {
  plain: `${PACKAGE}.plain.PlainLoginModule required ${LOGIN} user_${KAFKA_USER}="${KAFKA_PASSWORD}";`,
  'scram-sha-256': `${PACKAGE}.scram.ScramLoginModule required ${LOGIN};`,
  'scram-sha-512': `${PACKAGE}.scram.ScramLoginModule required ${LOGIN};`,
  oauthbearer: `${PACKAGE}.oauthbearer.OAuthBearerLoginModule required;`,
};

/**
 * A broker whose clients need TLS: with SASL at `sasl`, with
 * a client certificate at `mutual`. At `plain6` it is reached by an IPv6 address and without TLS.
 */
export class SecureKafka {
  readonly addresses: Record<'sasl' | 'mutual' | 'plain6', string>;
  readonly #process: OwnProcess;

  private constructor(addresses: SecureKafka['addresses'], started: OwnProcess) {
    this.addresses = addresses;
    this.#process = started;
  }

  /**
   * @param jwks where the keys of the tokens are; tokens are for the audience `kafka`
   */
  static async start(options: {
    folder: string;
    authority: Authority;
    jwks: string;
  }): Promise<SecureKafka> {
    const { folder, authority, jwks } = options;
    const libs = process.env['RAVAND_KAFKA_LIBS'] ?? '';
    if (libs === '') throw new Error("Kafka's jars are needed: run this with ./ravand test");
    const [controller, internal, sasl, mutual, plain6] = (await Promise.all(
      Array.from({ length: 5 }, () => freePort()),
    )) as [number, number, number, number, number];
    const { cert, key } = authority.issue('broker');
    const keys = join(folder, 'broker-keystore.pem');
    writeFileSync(keys, readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'));
    const listeners = [
      `INTERNAL://127.0.0.1:${internal}`,
      `SASL://127.0.0.1:${sasl}`,
      `MUTUAL://127.0.0.1:${mutual}`,
      `PLAINV6://[::1]:${plain6}`,
    ].join(',');
    const properties = {
      'process.roles': 'broker,controller',
      'node.id': 1,
      'controller.quorum.bootstrap.servers': `127.0.0.1:${controller}`,
      listeners: `${listeners},CONTROLLER://127.0.0.1:${controller}`,
      'advertised.listeners': listeners,
      'controller.listener.names': 'CONTROLLER',
      'inter.broker.listener.name': 'INTERNAL',
      'listener.security.protocol.map':
        'CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,SASL:SASL_SSL,MUTUAL:SSL,PLAINV6:PLAINTEXT',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keys,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': authority.ca,
      'listener.name.mutual.ssl.client.auth': 'required',
      ...saslProperties(options),
      'log.dirs': join(folder, 'kafka'),
      'offsets.topic.replication.factor': 1,
      'offsets.topic.num.partitions': 1,
      'group.initial.rebalance.delay.ms': 0,
      'group.consumer.min.session.timeout.ms': 4000,
      'group.consumer.session.timeout.ms': 4000,
      'group.consumer.min.heartbeat.interval.ms': 1000,
      'group.consumer.heartbeat.interval.ms': 1000,
      'auto.create.topics.enable': false,
      'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
      // A connection with a token authenticates itself again before the token expires.
      'connections.max.reauth.ms': 3_600_000,
    };
    const file = join(folder, 'kafka.properties');
    writeFileSync(
      file,
      Object.entries(properties)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    const java = [
      ...['-XX:TieredStopAtLevel=1', '-Xmx256m', '-cp', join(libs, '*')],
      `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${jwks}`,
    ];
    const users = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
      '--add-scram',
      `${mechanism}=[name=${KAFKA_USER},password=${KAFKA_PASSWORD}]`,
    ]);
    const cluster = randomBytes(16).toString('base64url').replace(/^-/, 'A');
    const format = ['format', '--standalone', '-t', cluster, '-c', file, ...users];
    await run('java', [...java, 'kafka.tools.StorageTool', ...format], { timeout: 60_000 });
    const started = new OwnProcess('java', [...java, 'kafka.Kafka', file]);
    await eventually({ ms: 60_000, every: 100, waitingFor: 'the broker to start' }, async () => {
      if (!started.isRunning) throw new Aborted(`the broker ended: ${started.log}`);
      return (await listens(mutual)) || undefined;
    });
    return new SecureKafka(
      {
        sasl: `127.0.0.1:${sasl}`,
        plain6: `[::1]:${plain6}`,
        mutual: `127.0.0.1:${mutual}`,
      },
      started,
    );
  }

  get log(): string {
    return this.#process.log;
  }

  async stop(): Promise<void> {
    await this.#process.end();
  }
}

function saslProperties({ jwks }: { jwks: string }): Record<string, string> {
  const of = 'listener.name.sasl';
  return {
    [`${of}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    ...Object.fromEntries(
      Object.entries(LOGINS).map(([mechanism, login]) => [
        `${of}.${mechanism}.sasl.jaas.config`,
        login,
      ]),
    ),
    [`${of}.oauthbearer.sasl.server.callback.handler.class`]: `${PACKAGE}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
    [`${of}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url`]: jwks,
    [`${of}.oauthbearer.sasl.oauthbearer.expected.audience`]: 'kafka',
  };
}
