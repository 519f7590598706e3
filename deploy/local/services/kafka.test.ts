import { X509Certificate } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { homeOf, makeHome, type Home } from '../../../cli/stack/home.ts';
import { brokerCount, brokerFolder } from './brokers.ts';
import {
  ensureKafkaCertificates,
  kafkaCertificates,
  removeKafkaCertificates,
} from './kafka-certificates.ts';
import { prepareKafka } from './kafka.ts';

describe('the broker of a stack', () => {
  let home: Home;
  beforeEach(() => {
    const dir = mkdtempSync(join(tmpdir(), 'ravand-kafka-'));
    home = homeOf({ checkout: '', env: { RAVAND_HOME: dir } });
    makeHome(home);
  });
  afterEach(() => rmSync(home.dir, { recursive: true, force: true }));

  const prepare = (login?: { username: string; password: string }) => {
    const brokers = [{ port: 20_001, controllerPort: 20_002 }];
    const [launch] = prepareKafka({ home, brokers, login, heap: 2 ** 28, libs: '/libs' });
    const file = join(home.run, 'kafka.properties');
    return { launch, file, properties: readFileSync(file, 'utf8') };
  };

  it('asks clients and the controller for the password, which only its private file holds', () => {
    const { launch, file, properties } = prepare({ username: 'ravand', password: 'p4ss' });
    expect(properties).toContain('CONTROLLER:SASL_PLAINTEXT,CLIENTS:SASL_PLAINTEXT');
    for (const listener of ['clients', 'controller'])
      expect(properties).toMatch(
        new RegExp(`listener.name.${listener}.plain.sasl.jaas.config=.* user_ravand="p4ss";`),
      );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.stringify([launch?.args, launch?.env])).not.toContain('p4ss');
  });

  it('asks nobody without LOCAL_KAFKA_SASL', () => {
    expect(prepare().properties).not.toContain('SASL');
  });
});

describe('three brokers of a stack', () => {
  let home: Home;
  beforeEach(() => {
    home = homeOf({
      checkout: '',
      env: { RAVAND_HOME: mkdtempSync(join(tmpdir(), 'ravand-kafka-')) },
    });
    makeHome(home);
  });
  afterEach(() => rmSync(home.dir, { recursive: true, force: true }));

  it('are a quorum, replicate everything and accept only TLS with a password', () => {
    const brokers = [1, 2, 3].map((id) => ({ port: 20_000 + id, controllerPort: 20_010 + id }));
    const login = { username: 'ravand', password: 'p4ss' };
    const launches = prepareKafka({
      ...{ home, brokers, login, hasTls: true, heap: 2 ** 28, libs: '/libs' },
    });
    expect(launches.map(({ args }) => args.at(-1))).toEqual(
      ['kafka', 'kafka-2', 'kafka-3'].map((name) => join(home.run, `${name}.properties`)),
    );
    const second = readFileSync(join(home.run, 'kafka-2.properties'), 'utf8').split('\n');
    expect(second).toEqual(
      expect.arrayContaining([
        'node.id=2',
        'controller.quorum.voters=1@127.0.0.1:20011,2@127.0.0.1:20012,3@127.0.0.1:20013',
        'listener.security.protocol.map=CONTROLLER:SASL_SSL,CLIENTS:SASL_SSL',
        'advertised.listeners=CLIENTS://127.0.0.1:20002',
        'offsets.topic.replication.factor=3',
        'min.insync.replicas=2',
        `log.dirs=${join(home.data, 'kafka-2')}`,
        `ssl.keystore.location=${join(home.data, 'kafka-tls', 'broker.pem')}`,
      ]),
    );
  });

  it('cannot become one broker, nor the other way round', async () => {
    expect(brokerCount(home, '')).toBe(1);
    expect(brokerCount(home, '3')).toBe(3);
    mkdirSync(brokerFolder(home, 0), { recursive: true });
    writeFileSync(join(brokerFolder(home, 0), 'meta.properties'), '');
    expect(brokerCount(home, '1')).toBe(1);
    expect(() => brokerCount(home, '3')).toThrow('was made with 1 broker of Kafka');

    await ensureKafkaCertificates(home);

    expect(brokerCount(home, '')).toBe(3);
    expect(() => brokerCount(home, '1')).toThrow('was made with 3 brokers of Kafka');
  });

  it('are one broker again when the first start of three ended before their log was made', async () => {
    await ensureKafkaCertificates(home);
    expect(brokerCount(home, '')).toBe(1);
    removeKafkaCertificates(home);
    mkdirSync(brokerFolder(home, 0), { recursive: true });
    writeFileSync(join(brokerFolder(home, 0), 'meta.properties'), '');
    expect(brokerCount(home, '')).toBe(1);
  });

  it('have certificates that their authority signed, whose key is not kept', async () => {
    await ensureKafkaCertificates(home);
    const { ca, keystore } = kafkaCertificates(home);
    const [authority, broker] = [ca, keystore].map((file) => readFileSync(file, 'utf8'));
    const certificate = new X509Certificate(broker?.slice(broker.indexOf('-----BEGIN CERT')) ?? '');
    expect(certificate.verify(new X509Certificate(authority ?? '').publicKey)).toBe(true);
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(readdirSync(join(home.data, 'kafka-tls')).sort()).toEqual(['broker.pem', 'ca.pem']);
    expect(statSync(keystore).mode & 0o777).toBe(0o600);
  });
});
