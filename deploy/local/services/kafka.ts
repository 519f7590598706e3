import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Home } from '../../../cli/stack/home.ts';
import type { Launch } from './service.ts';

const run = promisify(execFile);

interface Broker {
  home: Home;
  port: number;
  controllerPort: number;
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

function serverProperties({ home, port, controllerPort }: Broker): string {
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'log.dirs': join(home.data, 'kafka'),
    'offsets.topic.replication.factor': 1,
    // One broker: few partitions of the offsets topic make start and failover faster.
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 4,
    'group.initial.rebalance.delay.ms': 0,
    'auto.create.topics.enable': false,
    'message.max.bytes': 16 * 1024 * 1024,
    'controlled.shutdown.enable': true,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** Writes the broker's configuration; its storage is formatted before the first start. */
export function prepareKafka(broker: Broker): Launch {
  const { home } = broker;
  const properties = join(home.run, 'kafka.properties');
  writeFileSync(join(home.run, 'log4j2.properties'), LOGGING);
  writeFileSync(properties, serverProperties(broker));
  const heap = Math.ceil(broker.heap / 2 ** 20);
  return {
    command: 'java',
    args: [
      `-Xms${Math.min(heap, 256)}m`,
      `-Xmx${heap}m`,
      '-XX:+UseG1GC',
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
