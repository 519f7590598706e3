import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { TOPIC } from '../../../schemas/topology.ts';
import { post } from '../../support/client.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { freePort } from '../../support/service-process.ts';
import {
  createAccount,
  eventually,
  FULL,
  readyStack,
  rows,
  type TestAccount,
} from '../../support/stack.ts';
import { openClickhouse, openPostgres } from '../../support/stack-clients.ts';
import { createConnection, hostedHeaders } from '../../support/webhooks/connection.ts';
import { customer, deliveryText } from '../../support/webhooks/hosted-payloads.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const OF_ACCOUNT = 'account_id = {a:UInt64}';

interface Ended {
  code: number;
  text: string;
}

/** Runs `./ravand …`, whatever it exits with; 1 also when it is ended because it takes too long. */
function run(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { timeout: 200_000, maxBuffer: 2 ** 26 };
    execFile(join(CHECKOUT, 'ravand'), args, options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, text: stdout + stderr }),
    );
  });
}

describe('./ravand erase', () => {
  const ready = readyStack();
  const client = openClickhouse();
  const database = openPostgres();
  let account: TestAccount;

  const send = async (events: readonly object[], { url = ready.ingest_url, of = account } = {}) => {
    const answer = await post(`${url}/v1/batch`, of.writeKey, { batch: events });
    expect(answer.status).toBe(200);
  };
  const visit = (user_id: string) => ({ type: 'track', event: 'visited', user_id });
  /** Stored events of a person, by account. */
  const stored = async (user: string, of = account) => {
    const [found] = await rows<{ n: number }>(
      client,
      `SELECT count() AS n FROM events WHERE ${OF_ACCOUNT} AND user_id = {u:String}`,
      { a: of.accountId, u: user },
    );
    return found?.n ?? 0;
  };
  const untilStored = (user: string, count: number, of = account) =>
    eventually({ ms: 30_000, waitingFor: `${count} events of ${user}` }, async () =>
      (await stored(user, of)) === count ? true : undefined,
    );
  const erase = (user: string, ...more: string[]) =>
    run('erase', '--account', String(account.accountId), '--user-id', user, ...more);
  const erasures = async () =>
    (
      await database.query<{ id: string; state: string; key_id: number }>(
        'SELECT id, state, key_id FROM erasures WHERE account_id = $1 ORDER BY id',
        [account.accountId],
      )
    ).rows;
  const verify = async (id: string | number, ...more: string[]) => {
    const { code, text } = await run('erase', 'verify', String(id), '--json', ...more);
    const { findings } = JSON.parse(text) as { findings: { store: string; place: string }[] };
    return { code, stores: [...new Set(findings.map(({ store }) => store))], findings };
  };

  beforeAll(async () => {
    account = await createAccount('erase');
  });

  it('refuses somebody of whom nothing is stored, and changes nothing', async () => {
    const refused = await erase('nobody');
    expect(refused.code).toBe(1);
    expect(refused.text).toContain('holds no event, profile or alias of nobody');
    const dry = await erase('nobody', '--dry-run', '--json');
    expect([dry.code, JSON.parse(dry.text)]).toMatchObject([1, { known: false, events: 0 }]);
    expect(await erasures()).toEqual([]);
  });

  it('erases the person in one account only, not others whose ids begin alike', async () => {
    const twin = await createAccount('erase, the same ids');
    const friend = { ...visit('user-10'), properties: { friend: 'user-1', n: 1 } };
    await send([visit('user-1'), visit('user-1'), visit('user-10'), friend]);
    await send([visit('user-1'), visit('user-1')], { of: twin });
    await Promise.all([
      untilStored('user-1', 2),
      untilStored('user-10', 2),
      untilStored('user-1', 2, twin),
    ]);
    const reason = 'user-1 and sara@example.ir are two customers';
    const split = ['person', 'split', 'user-1', '--from', 'user-10', '--reason', reason];
    expect(await run(...split, '--account', String(account.accountId))).toMatchObject({ code: 0 });
    expect(await erase('user-1', '--text', 'sara@example.ir')).toMatchObject({ code: 0 });
    const audit = await database.query<{ reason: string }>(
      "SELECT details ->> 'reason' AS reason FROM audit_lines WHERE account_id = $1 AND action = 'person.split'",
      [account.accountId],
    );
    expect(audit.rows).toEqual([{ reason: 'erased' }]);
    expect([await stored('user-1'), await stored('user-10'), await stored('user-1', twin)]).toEqual(
      [0, 2, 2],
    );
    const [one] = await erasures();
    const { stores } = await verify(one?.id ?? 0, '--text', 'sara@example.ir');
    expect(stores).toEqual(['log']);
  }, 120_000);

  it('erases what a gateway has in its spool, also one that does not run', async () => {
    const person = 'spooled-person';
    await send([visit(person)]);
    await untilStored(person, 1);
    const gateway = await GatewayProcess.create({ PUBLISH_TIMEOUT: '500ms' });
    try {
      await gateway.start({ KAFKA_BROKERS: `127.0.0.1:${await freePort()}` });
      await send([visit(person), visit(person)], { url: gateway.url });
      expect(await gateway.kill('SIGTERM')).toBe(0);
      const erasing = erase(person);
      const stateOf = async () => (await erasures()).at(-1)?.state;
      await eventually({ ms: 30_000, waitingFor: 'the erasure' }, async () =>
        (await erasures()).length === 2 ? true : undefined,
      );
      // It waits as long as the spool holds them.
      await new Promise((resolve) => setTimeout(resolve, 3000));
      expect(await stateOf()).toBe('requested');
      await gateway.start();
      const ended = await erasing;
      expect(ended).toMatchObject({ code: 0 });
      expect(ended.text).toMatch(/to publish 2 events of its spool/);
      expect(await stored(person)).toBe(0);
      expect((await verify((await erasures()).at(-1)?.id ?? 0)).stores).toEqual(['log']);
    } finally {
      await gateway.remove();
    }
  }, 120_000);

  it.runIf(FULL)(
    'is taken over from the log by recover, whatever PostgreSQL has done since then',
    async () => {
      const before = await erasures();
      const lost = before.map(({ id }) => Number(id));
      // PostgreSQL was restored to a time before them, and another erasure has the first number.
      await database.query('DELETE FROM erasures WHERE account_id = $1', [account.accountId]);
      await database.query("SELECT setval('erasures_id_seq', $1, false)", [lost[0]]);
      await send([visit('other-person')]);
      await untilStored('other-person', 1);
      expect(await erase('other-person')).toMatchObject({ code: 0 });
      const recovered = await run('erase', 'recover', '--json');
      expect(recovered.code).toBe(0);
      const { restored } = JSON.parse(recovered.text) as { restored: number[] };
      expect(restored).toHaveLength(2);
      expect((await erasures()).map(({ state }) => state)).toEqual([
        'removed',
        'removed',
        'removed',
      ]);
      const again = await run('erase', 'recover');
      expect(again.text).toContain('holds every erasure');
      const replay = ['--account', String(account.accountId)];
      expect(await run('replay', '--topic', TOPIC.raw, ...replay)).toMatchObject({ code: 0 });
      expect([await stored('user-1'), await stored('spooled-person')]).toEqual([0, 0]);
      // Their names are known to the operator only.
      for (const user of ['user-1', 'spooled-person'])
        expect(await erase(user, '--force')).toMatchObject({ code: 0 });
    },
    120_000,
  );

  it('keeps a key that an erasure needs when the key is rotated, and takes the new one', async () => {
    const kept = (await erasures()).at(-1)?.key_id ?? 0;
    expect(await run('erase', 'rotate-key', '--json')).toMatchObject({ code: 0 });
    await send([visit('after-rotation')]);
    await untilStored('after-rotation', 1);
    expect(await erase('after-rotation')).toMatchObject({ code: 0 });
    expect((await erasures()).at(-1)?.key_id).toBeGreaterThan(kept);
    const keys = await database.query(
      'SELECT 1 FROM erasure_keys WHERE id = $1 AND key IS NOT NULL',
      [kept],
    );
    expect(keys.rowCount).toBe(1);
  }, 120_000);

  it.runIf(FULL)(
    'erases a delivery of a shop with the events that were made of it, and rewrites the log',
    async () => {
      const secret = 'whsec-of-the-shop';
      const { accountId } = account;
      const shop = await createConnection({ accountId, source: 'hosted_storefront', secret });
      const body = deliveryText(customer(new Date(Date.now() - 3_600_000)));
      const answer = await fetch(`${ready.ingest_url}/v1/hooks/${shop.source}/${shop.token}`, {
        ...{ method: 'POST', body, headers: hostedHeaders('customers/create', body, secret) },
      });
      expect(answer.status).toBe(200);
      const [event] = await eventually({ ms: 30_000, waitingFor: 'the delivery' }, async () => {
        const found = await rows<{ user_id: string }>(
          client,
          `SELECT user_id FROM events WHERE ${OF_ACCOUNT} AND source NOT IN ('sdk', 'api') AND type = 'identify'`,
          { a: accountId },
        );
        return found.length > 0 ? found : undefined;
      });
      const person = event?.user_id ?? '';
      expect(await erase(person)).toMatchObject({ code: 0 });
      const id = (await erasures()).at(-1)?.id ?? 0;
      const texts = ['--text', 'Narges@Example.ir', '--text', 'narges@example.ir'];
      expect((await verify(id, ...texts)).stores).toEqual(['log']);
      const status = await run('erase', 'status');
      expect([status.code, status.text]).toEqual([
        0,
        expect.stringMatching(/removed .* the log still holds the person: .\/ravand erase rewrite/),
      ]);
      const rewritten = await run('erase', 'rewrite');
      expect(`${rewritten.code} ${rewritten.text}`).toMatch(/^0 /);
      expect(await verify(id, ...texts)).toEqual({ code: 0, stores: [], findings: [] });
    },
    280_000,
  );

  it.runIf(FULL)(
    'destroys a key once every erasure of it is verified; no audit line names anybody',
    async () => {
      const people = ['other-person', 'user-1', 'spooled-person', 'after-rotation'];
      const open = await database.query<{ id: string; known: boolean }>(
        'SELECT id, names IS NOT NULL AS known FROM erasures WHERE account_id = $1 AND verified_at IS NULL',
        [account.accountId],
      );
      // Of the restored ones PostgreSQL knows no names.
      const restored = ['user-1', 'spooled-person'];
      for (const { id, known } of open.rows) {
        let code = 1;
        for (const user of known ? ['user-1'] : restored)
          if (code !== 0) ({ code } = await run('erase', 'verify', id, '--user-id', user));
        expect(code).toBe(0);
      }
      const rotated = await run('erase', 'rotate-key', '--json');
      expect(JSON.parse(rotated.text)).toEqual({ destroyed: 2 });
      const audit = await database.query<{ action: string; line: string }>(
        "SELECT action, details::text AS line FROM audit_lines WHERE action LIKE 'erasure.%'",
      );
      expect([...new Set(audit.rows.map(({ action }) => action))].toSorted()).toEqual([
        ...['erasure.key_rotated', 'erasure.removed', 'erasure.requested', 'erasure.restored'],
        ...['erasure.rewritten', 'erasure.verified'],
      ]);
      for (const { line } of audit.rows)
        for (const user of people) expect(line).not.toContain(user);
    },
    120_000,
  );

  it.runIf(FULL)(
    'erases the names, too, that an alias accepted before it merges while it waits',
    async () => {
      const [person, visitor] = ['merged-late', 'visitor-merged-late'];
      await send([visit(person), visit(visitor)]);
      await Promise.all([untilStored(person, 1), untilStored(visitor, 1)]);
      expect(await run('stop', 'identities-sink')).toMatchObject({ code: 0 });
      await send([{ type: 'alias', user_id: person, previous_id: visitor }]);
      const before = (await erasures()).length;
      const erasing = erase(person);
      await eventually({ ms: 30_000, waitingFor: 'the erasure' }, async () =>
        (await erasures()).length > before ? true : undefined,
      );
      expect(await run('start', 'identities-sink')).toMatchObject({ code: 0 });
      const ended = await erasing;
      expect(ended).toMatchObject({ code: 0 });
      expect(ended.text).toContain(`merged meanwhile with the person of erasure`);
      expect([await stored(person), await stored(visitor)]).toEqual([0, 0]);
      expect((await erasures()).slice(before).map(({ state }) => state)).toEqual([
        ...['removed', 'removed'],
      ]);
    },
    240_000,
  );
});
