import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { startCommerceLoad, type SentEvents } from '../support/commerce-load.ts';
import { expectBalanced } from '../support/expect-balanced.ts';
import { Ledger } from '../support/ledger.ts';
import { testTimeout } from '../support/test-timeout.ts';
import { previousRelease } from '../support/previous-release.ts';
import { ReleaseProcesses } from '../support/release-processes.ts';
import {
  createAccount,
  eventually,
  FULL,
  ravand,
  readyStack,
  rows,
  sleep,
  type ServiceStatus,
  type TestAccount,
} from '../support/stack.ts';
import { stackKafka } from '../support/read-topic.ts';
import { openClickhouse, openPostgres } from '../support/stack-clients.ts';
import { verifyCommerce } from '../support/verify-commerce.ts';

/** How long the two releases run beside each other at each step, ms. */
const BESIDE = FULL ? 15_000 : 1000;
const ROUNDS = FULL ? 3 : 1;
const PEOPLE = 6;
/** Of each between two requests, ms. */
const PAUSE = FULL ? 5 : 30;
/** Services of a step that change their release at the same time. */
const AT_ONCE = FULL ? 3 : 9;

const previous = previousRelease();
if (!previous)
  console.log('upgrade: the repository lacks the previous release (shallow clone?): skipped');

const STEPS = {
  gateway: ['ingest-gateway'],
  normaliser: ['normaliser'],
  sinks: [
    ...['events-sink', 'profiles-sink', 'identities-sink', 'catalogue-sink'],
    ...['quality-sink', 'metering', 'relays'],
  ],
} as const satisfies Record<string, readonly string[]>;
/** They write what `written_schemas` says, and learn within seconds that it has changed. */
const WRITERS = ['ingest-gateway', 'normaliser'];
type StepName = keyof typeof STEPS;
const UPGRADED: readonly string[] = Object.values(STEPS).flat();
const SINKS_LAST: [string, StepName[]] = [
  'gateway, normaliser, sinks',
  ['gateway', 'normaliser', 'sinks'],
];
const SINKS_FIRST: [string, StepName[]] = [
  'sinks, normaliser, gateway',
  ['sinks', 'normaliser', 'gateway'],
];
/** The way back before each goes from the gateway to the sinks: one case meets both orders. */
const ORDERS = FULL ? [SINKS_LAST, SINKS_FIRST] : [SINKS_FIRST];

describe.skipIf(previous === undefined)('An upgrade under load', () => {
  const ready = readyStack();
  const client = openClickhouse();
  const database = openPostgres();
  const old = new ReleaseProcesses(previous?.checkout ?? '');
  const gateways = new Set([ready.ingest_url]);
  /** Clients reach any gateway that is up, as behind a load balancer. */
  const balanced = {
    ...ready,
    get ingest_url() {
      const urls = [...gateways];
      return urls[Math.floor(Math.random() * urls.length)] ?? '';
    },
  };
  afterAll(async () => {
    await Promise.all(UPGRADED.map((name) => ravand('start', name)));
    await old.remove();
    previous?.remove();
  });

  const begin = async (name: string) => {
    const account = await createAccount(name);
    const [ledger, sayings] = [new Ledger(), new Map() as SentEvents];
    const options = { ready: balanced, account, ledger, people: PEOPLE, pause: PAUSE };
    const load = startCommerceLoad({ ...options, sentEvents: sayings });
    return { account, ledger, sayings, stop: () => load.stop() };
  };

  /** Replaces services, a few at a time: for a while both releases do their work. */
  const replace = async (
    names: readonly string[],
    change: { start: (name: string) => Promise<unknown>; end: (name: string) => Promise<unknown> },
  ) => {
    for (let from = 0; from < names.length; from += AT_ONCE) {
      const some = names.slice(from, from + AT_ONCE);
      await Promise.all(some.map((name) => change.start(name)));
      await sleep(BESIDE);
      await Promise.all(some.map((name) => change.end(name)));
    }
  };

  /** As in an installation that the previous release has used. */
  const writeOldRows = async () => {
    const { rowCount } = await database.query('SELECT 1 FROM written_schemas WHERE version > 1');
    if (rowCount === 0) return;
    await Promise.all(WRITERS.map((name) => ravand('stop', name)));
    await eventually({ ms: 60_000, waitingFor: 'every row to be read' }, async () => {
      const { parts } = JSON.parse(await ravand('status', '--json')) as { parts: ServiceStatus[] };
      const sinks = parts.filter(({ name }) => STEPS.sinks.some((sink) => sink === name));
      return sinks.every(({ lag }) => lag === 0) ? true : undefined;
    });
    await database.query('UPDATE written_schemas SET version = 1');
    await Promise.all(WRITERS.map((name) => ravand('start', name)));
  };

  const toPrevious = () =>
    replace(UPGRADED, {
      async start(name) {
        await old.start(name);
        if (name === 'ingest-gateway') gateways.add(old.url);
      },
      async end(name) {
        if (name === 'ingest-gateway') gateways.delete(ready.ingest_url);
        await ravand('stop', name);
      },
    });

  const upgrade = (step: StepName, signal: 'SIGTERM' | 'SIGKILL') =>
    replace(STEPS[step], {
      async start(name) {
        await ravand('start', name);
        if (name === 'ingest-gateway') gateways.add(ready.ingest_url);
      },
      async end(name) {
        if (name === 'relays') expect(await obstaclesOfFinish()).toContain('an older release');
        if (name === 'ingest-gateway') gateways.delete(old.url);
        await old.end(name, signal);
      },
    });

  it.each(ORDERS)(
    'loses and doubles nothing in the order %s, nor does the way back before it',
    async (order, steps) => {
      await writeOldRows();
      const dead = await deadLetters();
      for (let round = 0; round < ROUNDS; round++) {
        const traffic = await begin(`upgrade ${order}`);
        await toPrevious();
        await sleep(BESIDE);
        for (const step of steps) await upgrade(step, round === 1 ? 'SIGKILL' : 'SIGTERM');
        await verifyCommerce(client, traffic, { order, round });
        await expectBalanced(traffic.account, traffic.ledger);
        expect(await tracesOf(traffic.account)).toEqual({
          with: 0,
          without: traffic.ledger.durable.size,
        });
      }
      expect(await deadLetters()).toBe(dead);
    },
    testTimeout(FULL ? 1_800_000 : 240_000),
  );

  it(
    'ends with a command, after which rows carry the trace of their request',
    async () => {
      const dry = await ravand('log', 'finish-upgrade', '--dry-run', '--json');
      const waiting = { from: 1, to: 2, advanced: false, waits_for: [] };
      expect(JSON.parse(dry)).toEqual({
        ...{ ...waiting, outcomes: waiting, claims: waiting, raw: waiting },
      });
      const traffic = await begin('upgrade finished');
      await sleep(BESIDE);
      const done = await ravand('log', 'finish-upgrade', '--json');
      expect(JSON.parse(done)).toMatchObject({
        ...{ from: 1, to: 2, advanced: true, outcomes: { from: 1, to: 2, advanced: true } },
        claims: { from: 1, to: 2, advanced: true },
        raw: { from: 1, to: 2, advanced: true },
      });
      await eventually({ ms: 60_000, waitingFor: 'rows of version 2' }, async () =>
        (await tracesOf(traffic.account)).with > 20 ? true : undefined,
      );
      await verifyCommerce(client, traffic, { order: 'finished' });
      const found = await tracesOf(traffic.account);
      expect(found.with + found.without).toBe(traffic.ledger.durable.size);
      await expectBalanced(traffic.account, traffic.ledger);
    },
    testTimeout(240_000),
  );

  async function tracesOf({ accountId }: TestAccount): Promise<{ with: number; without: number }> {
    const query = `SELECT countIf(_trace != '') AS with, countIf(_trace = '') AS without
      FROM events WHERE account_id = {a:UInt64}`;
    const [found] = await rows<{ with: number; without: number }>(client, query, { a: accountId });
    return found ?? { with: 0, without: 0 };
  }
});

async function deadLetters(): Promise<number> {
  const ends = await withKafkaAdmin(stackKafka(), (admin) => topicEnds(admin, TOPIC.dead));
  return ends.reduce((sum, { high }) => sum + high, 0);
}

/** Why the upgrade cannot be finished, as the command says. */
async function obstaclesOfFinish(): Promise<string> {
  const failed = await promisify(execFile)(
    join(import.meta.dirname, '../../ravand'),
    ['log', 'finish-upgrade'],
    { timeout: 60_000 },
  ).catch((error: unknown) => error as { stderr: string });
  return failed.stderr;
}
