import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVICES } from '../../schemas/topology.ts';
import { call, makeMember, sessionIn, signIn, type Reply } from '../contract/control/panel.ts';
import { testTimeout } from '../support/test-timeout.ts';
import {
  add,
  logsOfStack,
  processArguments,
  secretsIn,
  secretsOfStack,
  type Secrets,
} from '../support/secrets-in-use.ts';
import { ServiceProcess } from '../support/service-process.ts';
import { createAccount, eventually, ravand, readyStack, sleep } from '../support/stack.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..');
const home = process.env['RAVAND_HOME'] ?? '';
const ready = readyStack();
const secrets: Secrets = secretsOfStack(home);
/** What was written or answered, by where it was seen. */
const seen = new Map<string, string>();
const started: ServiceProcess[] = [];

/** A secret that exists for this test only; wrong ones must not be repeated either. */
function secret(name: string, prefix = ''): string {
  const value = `${prefix}${randomBytes(18).toString('base64url')}`;
  add(secrets, name, value);
  return value;
}

function note(where: string, text: string): void {
  seen.set(where, `${seen.get(where) ?? ''}${text}\n`);
}

/** An answer that may not contain a secret, with its headers. */
function refused(where: string, reply: Pick<Reply, 'status' | 'text' | 'headers'>): void {
  expect(reply.status, where).toBeGreaterThanOrEqual(400);
  note(`answer: ${where}`, `${reply.text}\n${JSON.stringify(reply.headers)}`);
}

/** A server's URL with another password. */
function withPassword(url: string, password: string): string {
  const changed = new URL(url);
  // A server without passwords lets everybody in, but not under a name that it does not know.
  changed.username = 'somebody';
  changed.password = password;
  return changed.href;
}

/** Runs a service with wrong credentials until it has said so, or has ended. */
async function misconfigured(script: string, env: NodeJS.ProcessEnv): Promise<void> {
  const service = new ServiceProcess(script, { env: { KAFKA_INSTANCE_ID: '', ...env } });
  started.push(service);
  const where = `${script} with ${Object.keys(env).join()}`;
  try {
    await eventually({ ms: 15_000, every: 100, waitingFor: where }, () =>
      Promise.resolve(service.exitCode !== null || service.log.length > 0 ? true : undefined),
    );
    // Long enough for the first attempts to connect.
    await sleep(3000);
  } finally {
    await service.end('SIGTERM');
    note(`output: ${where}`, service.log);
  }
}

/** Runs a command that fails; its output is read. */
async function failing(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const output = await new Promise<string>((resolve) => {
    execFile(
      join(CHECKOUT, 'ravand'),
      [...args],
      { env: { ...process.env, ...env }, timeout: 60_000 },
      (_error, stdout, stderr) => resolve(`${stdout}\n${stderr}`),
    );
  });
  note(`command: ${args.join(' ')} with ${Object.keys(env).join()}`, output);
}

const sampling = setInterval(() => {
  for (const line of processArguments().values()) seen.set(`arguments: ${line}`, line);
}, 500);

afterAll(async () => {
  clearInterval(sampling);
  await Promise.all(started.map((service) => service.end('SIGKILL')));
});

describe('a run with right and wrong credentials for every server and every entrance', () => {
  beforeAll(async () => {
    const account = await createAccount('secrets');
    add(secrets, 'write key', account.writeKey);
    add(secrets, 'management key', account.managementKey);
    const member = await makeMember(String(account.accountId), 'owner');
    add(secrets, 'password of a member', member.password);
    const session = sessionIn(await signIn(member));
    add(secrets, 'session', session);

    const saved = await call('PUT', '/api/proxy/v1/integrations', {
      session,
      body: { source: 'event_pipeline', label: 'x', secret: secret('secret of a connection') },
    });
    const { token } = saved.body as { token: string };
    add(secrets, 'token of a connection', token);
    const relay = { name: 'r', url: 'http://127.0.0.1:9/', events: [], filters: [], enabled: true };
    await call('PUT', '/api/proxy/v1/relays', {
      session,
      body: { ...relay, secret: secret('secret of a relay') },
    });

    await ingest(account.writeKey);
    await delivery(token, secrets.get('secret of a connection') ?? '');
    await management(account.managementKey, session);
    await panel(member.email);
    await relayed(account.writeKey);
    await servers();
    await commands();
    for (const [file, text] of logsOfStack(home)) seen.set(`log: ${file}`, text);
    for (const { name } of SERVICES) await metricsOf(name);
  }, testTimeout(300_000));

  async function ingest(writeKey: string): Promise<void> {
    const base = ready.ingest_url;
    const body = { event: 'e', user_id: 'u' };
    const track = (headers: Record<string, string>, path = '/v1/track') =>
      call('POST', path, { base, headers, body });
    expect((await track({ authorization: `Bearer ${writeKey}` })).status).toBe(200);
    const wrong = secret('wrong write key', 'wk_svc_');
    refused('a wrong write key', await track({ authorization: `Bearer ${wrong}` }));
    refused('a wrong X-Service-Key', await track({ 'x-service-key': wrong }));
    refused(
      'a wrong key in Basic',
      await track({ authorization: `Basic ${Buffer.from(`${wrong}:`).toString('base64')}` }),
    );
    refused('a key in the path', await track({}, `/v1/${wrong}/track`));
    refused('a key in the query', await track({}, `/v1/nothing?key=${wrong}`));
  }

  async function delivery(token: string, right: string): Promise<void> {
    const body = { type: 'track', event: 'e', userId: 'u', messageId: 'm' };
    const deliver = (path: string, authorization: string) =>
      call('POST', `/v1/hooks/event_pipeline/${path}`, {
        ...{ base: ready.ingest_url, headers: { authorization }, body },
      });
    expect((await deliver(token, `Bearer ${right}`)).status).toBe(200);
    refused('a wrong secret', await deliver(token, `Bearer ${secret('wrong webhook secret')}`));
    refused('a wrong token', await deliver(secret('wrong webhook token'), `Bearer ${right}`));
  }

  async function management(key: string, session: string): Promise<void> {
    const base = ready.base_url;
    const get = (path: string, headers: Record<string, string>) =>
      call('GET', path, { base, headers });
    await get('/v1/segments', { authorization: `Bearer ${key}` });
    const wrong = secret('wrong management key', 'sk_svc_');
    refused('a wrong management key', await get('/v1/x', { authorization: `Bearer ${wrong}` }));
    refused('a session as a key', await get('/v1/x', { cookie: `service_session=${session}` }));
    refused('a key in a path', await get(`/v1/exports/${wrong}`, { 'x-service-key': wrong }));
  }

  async function panel(email: string): Promise<void> {
    const wrong = secret('wrong password');
    refused('a wrong password', await signIn({ email, password: wrong }));
    refused('a password as an address', await signIn({ email: wrong, password: wrong }));
    refused(
      'broken JSON with a password',
      await call('POST', '/api/session', { body: `{"email":"${email}","password":"${wrong}",` }),
    );
    const session = secret('wrong session').padEnd(43, 'A');
    refused('a wrong session', await call('GET', '/api/session', { session }));
    refused('a wrong session', await call('GET', '/api/proxy/v1/relays', { session }));
  }

  /** The relay signs with its secret and fails; its log is written. */
  async function relayed(writeKey: string): Promise<void> {
    const headers = { authorization: `Bearer ${writeKey}` };
    await call('POST', '/v1/track', {
      ...{ base: ready.ingest_url, headers, body: { event: 'relayed', user_id: 'u' } },
    });
  }

  async function servers(): Promise<void> {
    const wrong = (name: string) => secret(`wrong password of ${name}`);
    await Promise.all([
      misconfigured('control-plane/main.ts', {
        REDIS_URL: withPassword(ready.redis_url, wrong('Redis')),
      }),
      misconfigured('control-plane/main.ts', {
        DATABASE_URL: withPassword(ready.database_url, wrong('PostgreSQL')),
        SEALING_KEY: `other:${randomBytes(32).toString('base64')}`,
      }),
    ]);
    await Promise.all([
      misconfigured('projections/quality/main.ts', {
        CLICKHOUSE_URL: withPassword(ready.clickhouse_url, wrong('ClickHouse')),
      }),
      misconfigured('projections/catalogue/main.ts', {
        KAFKA_SASL_MECHANISM: 'PLAIN',
        KAFKA_SASL_USERNAME: 'somebody',
        KAFKA_SASL_PASSWORD: wrong('Kafka'),
      }),
    ]);
    await misconfigured('control-plane/main.ts', { SEALING_KEY: secret('unreadable sealing key') });
    await misconfigured('control-plane/main.ts', {
      DATABASE_URL: `mysql://u:${secret('password of another scheme')}@h/d`,
    });
    await misconfigured('control-plane/main.ts', {
      PANEL_URL: `ftp://u:${secret('password of a setting that is not secret')}@h/`,
    });
  }

  async function commands(): Promise<void> {
    await ravand('status');
    await ravand('lag', '--json');
    const elsewhere = { RAVAND_HOME: mkdtempSync(join(tmpdir(), 'no-stack-')) };
    const url = (protocol: string, name: string) => `${protocol}//u:${secret(name)}@127.0.0.1:9/d`;
    await failing(['admin', 'account', 'create', '--name', 'x'], {
      ...elsewhere,
      DATABASE_URL: url('postgres:', 'password of an unreachable PostgreSQL'),
    });
    await failing(['admin', 'account', 'create', '--name', 'x'], {
      ...elsewhere,
      DATABASE_URL: withPassword(ready.database_url, secret('password of a command')),
    });
    await failing(['why', 'm', '--account', '1'], {
      ...elsewhere,
      DATABASE_URL: url('postgres:', 'PostgreSQL of why'),
      REDIS_URL: url('redis:', 'Redis of why'),
      CLICKHOUSE_URL: url('http:', 'ClickHouse of why'),
      KAFKA_BROKERS: '127.0.0.1:9',
    });
    await failing(['up'], { ...elsewhere, SEALING_KEY: secret('unreadable sealing key of up') });
  }

  async function metricsOf(name: string): Promise<void> {
    const plan = readFileSync(join(home, 'run', 'stack.json'), 'utf8');
    const { admin_ports: ports } = JSON.parse(plan) as { admin_ports: Record<string, number> };
    for (const page of ['metrics', 'readyz']) {
      const answer = await fetch(`http://127.0.0.1:${ports[name] ?? 0}/${page}`);
      note(`${page} of ${name}`, await answer.text());
    }
  }

  it('finds the secrets of the stack and of the run', () => {
    expect(secrets.size).toBeGreaterThan(25);
    expect([...seen.keys()].filter((where) => where.startsWith('output:'))).toHaveLength(7);
    expect(seen.get('log: control-plane.log')).toContain('a member signed in');
  });

  it('writes none of them to a log, standard output or standard error', () => {
    expect(leaks(/^(log|output|command):/)).toEqual({});
  });

  it('has none of them in the arguments of a process', () => {
    expect(leaks(/^arguments:/)).toEqual({});
  });

  it('shows none of them in a metric, an admin page or a refusal', () => {
    expect(leaks(/^(metrics|readyz|answer)/)).toEqual({});
  });

  function leaks(where: RegExp): Record<string, string[]> {
    const found: Record<string, string[]> = {};
    for (const [place, text] of seen) {
      const names = where.test(place) ? secretsIn(text, secrets) : [];
      // Not the place of an argument, which would print the secret.
      if (names.length > 0) found[place.startsWith('arguments:') ? 'arguments' : place] = names;
    }
    return found;
  }
});
