import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { writePrivateFile } from '../../../cli/json-file.ts';
import type { Home } from '../../../cli/stack/home.ts';
import type { OwnBroker, StackPlan } from '../../../cli/stack/stack-plan.ts';
import { brokerFolder, brokerName } from './brokers.ts';
import { kafkaCertificates } from './kafka-certificates.ts';
import type { Launch } from './service.ts';

const run = promisify(execFile);

interface Brokers {
  home: Home;
  /** Each is a controller, too; several are a quorum. */
  brokers: readonly OwnBroker[];
  /** What clients and the controller must send; undefined: nothing. */
  login: StackPlan['kafka_login'];
  /** Whether all connections use TLS, with the certificates of the home. */
  hasTls?: boolean;
  /** Java heap of each, bytes. */
  heap: number;
  /** Folder of the jars. */
  libs: string;
}

/** One of the brokers; node ids begin with 1. */
type Broker = Brokers & OwnBroker & { index: number };

/** How many replicas must have a record before it is acknowledged. */
export function minInsyncReplicas(brokers: number): number {
  return brokers > 2 ? brokers - 1 : 1;
}

const LOGGING = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %-5p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.server.name = kafka.server.KafkaRaftServer
logger.server.level = info
`;

/** Arguments of java for every tool of Kafka. */
function java(broker: Pick<Broker, 'libs' | 'home'>): string[] {
  return [
    '-cp',
    join(broker.libs, '*'),
    `-Dlog4j2.configurationFile=${join(broker.home.run, 'log4j2.properties')}`,
  ];
}

function serverProperties(broker: Broker): string {
  const { home, index, brokers, port, controllerPort, login, hasTls = false } = broker;
  const protocol = `${login ? 'SASL_' : ''}${hasTls ? 'SSL' : 'PLAINTEXT'}`;
  const replicas = brokers.length;
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': index + 1,
    ...quorumProperties(broker),
    listeners: `CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `CLIENTS://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': `CONTROLLER:${protocol},CLIENTS:${protocol}`,
    'inter.broker.listener.name': 'CLIENTS',
    ...(login ? saslProperties(login) : {}),
    ...(hasTls ? tlsProperties(home) : {}),
    'log.dirs': brokerFolder(home, index),
    'offsets.topic.replication.factor': replicas,
    'default.replication.factor': replicas,
    'min.insync.replicas': minInsyncReplicas(replicas),
    // One machine: few partitions of the offsets topic make start and failover faster.
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': minInsyncReplicas(replicas),
    'transaction.state.log.num.partitions': 4,
    'group.initial.rebalance.delay.ms': 0,
    // How long a killed member holds its partitions; the defaults are 45 s and 5 s.
    'group.consumer.min.session.timeout.ms': 4000,
    'group.consumer.session.timeout.ms': 4000,
    'group.consumer.min.heartbeat.interval.ms': 1000,
    'group.consumer.heartbeat.interval.ms': 1000,
    'auto.create.topics.enable': false,
    // Of the heap; the default of 128 MiB is for compacted topics larger than __consumer_offsets.
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
    'message.max.bytes': 16 * 1024 * 1024,
    'controlled.shutdown.enable': true,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/**
 * The voters of a cluster are configured, because their ports may change between two starts; the
 * only voter of one broker is found by its own address.
 */
function quorumProperties({ brokers, controllerPort }: Broker): Record<string, string> {
  if (brokers.length === 1)
    return { 'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}` };
  return {
    'controller.quorum.voters': brokers
      .map((one, index) => `${index + 1}@127.0.0.1:${one.controllerPort}`)
      .join(','),
  };
}

function tlsProperties(home: Home): Record<string, string> {
  const { ca, keystore } = kafkaCertificates(home);
  return {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': keystore,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': ca,
  };
}

function saslProperties({
  username,
  password,
}: NonNullable<StackPlan['kafka_login']>): Record<string, string> {
  const module = 'org.apache.kafka.common.security.plain.PlainLoginModule';
  const jaas = `${module} required username="${username}" password="${password}" user_${username}="${password}";`;
  return {
    'sasl.enabled.mechanisms': 'PLAIN',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'sasl.mechanism.controller.protocol': 'PLAIN',
    'listener.name.clients.plain.sasl.jaas.config': jaas,
    'listener.name.controller.plain.sasl.jaas.config': jaas,
  };
}

/**
 * Writes the configuration of the brokers; the storage of each is formatted before its first
 * start.
 */
export function prepareKafka(of: Brokers): Launch[] {
  writeFileSync(join(of.home.run, 'log4j2.properties'), LOGGING);
  return of.brokers.map((ports, index) => prepareBroker({ ...of, ...ports, index }));
}

function prepareBroker(broker: Broker): Launch {
  const { home, index } = broker;
  const properties = join(home.run, `${brokerName(index)}.properties`);
  writePrivateFile(properties, serverProperties(broker));
  const heap = Math.ceil(broker.heap / 2 ** 20);
  return {
    command: 'java',
    args: [
      `-Xms${Math.min(heap, 64)}m`,
      `-Xmx${heap}m`,
      '-XX:+UseG1GC',
      // An idle broker gives memory back.
      '-XX:G1PeriodicGCInterval=15000',
      '-XX:+ExitOnOutOfMemoryError',
      ...java(broker),
      'kafka.Kafka',
      properties,
    ],
    env: {},
    prepare: () => formatStorage(broker, properties),
  };
}

async function formatStorage(broker: Broker, properties: string): Promise<void> {
  const folder = brokerFolder(broker.home, broker.index);
  if (existsSync(join(folder, 'meta.properties'))) return;
  mkdirSync(folder, { recursive: true });
  const tool = [
    '-XX:TieredStopAtLevel=1',
    'kafka.tools.StorageTool',
    'format',
    ...(broker.brokers.length === 1 ? ['--standalone'] : []),
    '-t',
    clusterId(broker.home),
    '-c',
    properties,
  ];
  await run('java', [...java(broker), ...tool], { timeout: 120_000 });
}

/** 16 random bytes, as StorageTool random-uuid makes them; an interrupted format reuses them. */
function clusterId(home: Home): string {
  const file = join(home.data, 'kafka-cluster-id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const id = randomBytes(16).toString('base64url').replace(/^-/, 'A');
  writeFileSync(file, `${id}\n`);
  return id;
}
