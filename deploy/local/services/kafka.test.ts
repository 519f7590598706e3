import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { homeOf, makeHome, type Home } from '../../../cli/stack/home.ts';
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
    const launch = prepareKafka({
      ...{ home, port: 20_001, controllerPort: 20_002, login, heap: 2 ** 28, libs: '/libs' },
    });
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
    expect(JSON.stringify([launch.args, launch.env])).not.toContain('p4ss');
  });

  it('asks nobody without LOCAL_KAFKA_SASL', () => {
    expect(prepare().properties).not.toContain('SASL');
  });
});
