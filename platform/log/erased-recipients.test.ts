import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { idHash } from '../../events/erasure/erased-people.ts';
import { messageOutcomeCodec } from '../../schemas/codec.ts';
import { createLog } from '../log.ts';
import { migratedDatabase, type MigratedDatabase } from '../postgres/testing/migrated-database.ts';
import { ErasedRecipients } from './erased-recipients.ts';

const log = createLog({ part: 'test', level: 'silent' });
const AT = Date.UTC(2026, 0, 1);
let postgres: MigratedDatabase;
let stop: AbortController;

beforeAll(async () => {
  postgres = await migratedDatabase(['0001', '0029', '0050', '0053', '0054', '0068']);
}, 60_000);
afterAll(() => postgres.close());
beforeEach(async () => {
  stop = new AbortController();
  await postgres.database.query('DELETE FROM erasures');
  return () => stop.abort();
});

async function recipientsWhen(state: string, until?: number): Promise<ErasedRecipients> {
  const { database } = postgres;
  const { rows } = await database.query<{ id: number; key: Buffer }>(
    'SELECT id, key FROM erasure_keys',
  );
  const key = Buffer.from(rows[0]?.key ?? '');
  await database.query(
    `INSERT INTO erasures (account_id, key_id, name_hashes, state, requested_at, messages_until)
     VALUES (1, $1, $2, $3, to_timestamp(0), to_timestamp($4::float8 / 1000))`,
    [rows[0]?.id, [idHash(key, 1, 'sara')], state, until ?? null],
  );
  return ErasedRecipients.follow({ database, log, signal: stop.signal });
}

const of = (account_id: number, planned_at = AT) => ({ account_id, planned_at });
const sara = { person_id: 'sara', user_id: 'sara' };

describe('a recipient is erased', () => {
  it.each(['requested', 'recorded', 'enforced'])(
    'from the request on, whenever the message was planned: %s',
    async (state) => {
      const recipients = await recipientsWhen(state);
      expect(recipients.isErased(of(1), sara)).toBe(true);
      expect(recipients.isErased(of(1), { person_id: 'other', user_id: 'sara' })).toBe(true);
      expect(recipients.isErased(of(1), { person_id: 'sara', user_id: 'other' })).toBe(true);
      expect(recipients.isErased(of(2), sara)).toBe(false);
      expect(recipients.isErased(of(1), { person_id: 'ali', user_id: 'ali' })).toBe(false);
    },
  );

  it('after the removal in messages that were planned before it, and a new person is not', async () => {
    const recipients = await recipientsWhen('removed', AT);
    expect(recipients.isErased(of(1, AT), sara)).toBe(true);
    expect(recipients.isErased(of(1, AT + 1), sara)).toBe(false);
  });

  it('when the name is gone, whatever erasures are known', async () => {
    const recipients = await recipientsWhen('rewritten', AT);
    expect(recipients.isErased(of(1), { person_id: '', user_id: '' })).toBe(true);
    expect(recipients.isErased(of(1), sara)).toBe(false);
  });
});

it('the outcome of an erased recipient is published without the person, and others as they are', async () => {
  const recipients = await recipientsWhen('requested');
  const outcome = (person: string) =>
    messageOutcomeCodec.encode({
      ...{ account_id: 1, message_id: 'c2.5.x', campaign_id: 2, run_id: 5, template_id: 7 },
      ...{ template_version: 1, channel: 'email', category: 'marketing', person_id: person },
      ...{ user_id: person, address_hash: 'ab', status: 'sent', reason: '', provider: 'smtp' },
      ...{ provider_message_id: 'x', planned_at: AT, finished_at: AT, attempts: 1 },
    });
  const left = messageOutcomeCodec.decode(recipients.outcome(outcome('sara')));
  expect(left).toMatchObject({ status: 'erased', person_id: '', user_id: '', message_id: '' });
  const ali = outcome('ali');
  expect(recipients.outcome(ali)).toBe(ali);
});
