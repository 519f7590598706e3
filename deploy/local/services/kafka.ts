import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { writePrivateFile } from '../../../cli/json-file.ts';
import type { Home } from '../../../cli/stack/home.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import type { Launch } from './service.ts';

const run = promisify(execFile);

interface Broker {
  home: Home;
  port: number;
  controllerPort: number;
  /** What clients and the controller must send; undefined: nothing. */
  login: StackPlan['kafka_login'];
  /** Java heap, bytes. */
  heap: number;
  /** Folder of the jars. */
  libs: string;
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
function java(broker: Broker): string[] {
  return [
    '-cp',
    join(broker.libs, '*'),
    `-Dlog4j2.configurationFile=${join(broker.home.run, 'log4j2.properties')}`,
  ];
}

function serverProperties({ home, port, controllerPort, login }: Broker): string {
  const protocol = login ? 'SASL_PLAINTEXT' : 'PLAINTEXT';
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}`,
    listeners: `CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `CLIENTS://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': `CONTROLLER:${protocol},CLIENTS:${protocol}`,
    'inter.broker.listener.name': 'CLIENTS',
    ...(login ? saslProperties(login) : {}),
    'log.dirs': join(home.data, 'kafka'),
    'offsets.topic.replication.factor': 1,
    // One broker: few partitions of the offsets topic make start and failover faster.
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
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

/** Writes the broker's configuration; its storage is formatted before the first start. */
export function prepareKafka(broker: Broker): Launch {
  const { home } = broker;
  const properties = join(home.run, 'kafka.properties');
  writeFileSync(join(home.run, 'log4j2.properties'), LOGGING);
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
  const folder = join(broker.home.data, 'kafka');
  if (existsSync(join(folder, 'meta.properties'))) return;
  mkdirSync(folder, { recursive: true });
  const tool = [
    '-XX:TieredStopAtLevel=1',
    'kafka.tools.StorageTool',
    'format',
    '--standalone',
    '-t',
    clusterId(broker.home),
    '-c',
    properties,
  ];
  await run('java', [...java(broker), ...tool], { timeout: 60_000 });
}

/** 16 random bytes, as StorageTool random-uuid makes them; an interrupted format reuses them. */
function clusterId(home: Home): string {
  const file = join(home.data, 'kafka-cluster-id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const id = randomBytes(16).toString('base64url').replace(/^-/, 'A');
  writeFileSync(file, `${id}\n`);
  return id;
}
