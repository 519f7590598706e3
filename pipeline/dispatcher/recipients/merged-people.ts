import type { Database } from '../../../platform/postgres/pool.ts';
import { messageChunkCodec } from '../../../schemas/codec.ts';
import { hasBit } from '../chunk/bits.ts';

/** A recipient of a run whose person may have been merged with another one after the freeze. */
interface MergedRecipient {
  /** Of the recipient. */
  key: string;
  /** personKey of the canonical person now. */
  person: string;
  /** Keys that other recipients who are the same person would have. */
  others: readonly string[];
}

type MergeDecision =
  { kind: 'sends' } | { kind: 'other_sends' } | { kind: 'later'; afterMs: number };

/**
 * Whoever was looked up before the merge sends within RESOLVED_FRESH_MS, or is looked up again, ms.
 */
const KNOWN_AFTER_MS = 15_000;
/** Keys that one statement looks for among the recipients; who has others waits. */
const MAX_KEYS = 2000;
const NEXT_MS = 1000;

/**
 * Which of these recipients sends to its person (docs/messages.md, Send a campaign: after a merge
 * one address gets one message). One that was opened already has decided; else the first that asks
 * sends, after nobody can be sending any more who does not know of the merge. Rejects when
 * PostgreSQL does.
 */
export async function decideMerged(
  database: Pick<Database, 'query'>,
  runId: number,
  recipients: readonly MergedRecipient[],
): Promise<MergeDecision[]> {
  let keys = 0;
  const asked = recipients.filter(
    ({ others }, at) => (keys += others.length) <= MAX_KEYS || at === 0,
  );
  const claims = await claim(database, runId, asked);
  // Read after the claims: who is not opened yet finds them.
  const opened = await openedKeys(database, runId, asked);
  return recipients.map((recipient) => {
    if (!asked.includes(recipient)) return { kind: 'later', afterMs: NEXT_MS };
    const { key, person, others } = recipient;
    if (opened.has(key)) return { kind: 'sends' };
    if (others.some((other) => opened.has(other))) return { kind: 'other_sends' };
    const claimed = claims.get(person);
    if (claimed && claimed.sendsAs !== key) return { kind: 'other_sends' };
    const afterMs = KNOWN_AFTER_MS - (claimed?.ageMs ?? 0);
    return afterMs > 0 ? { kind: 'later', afterMs } : { kind: 'sends' };
  });
}

interface Claim {
  sendsAs: string;
  ageMs: number;
}

const READ = `SELECT person, sends_as, extract(epoch FROM clock_timestamp() - decided_at)::float8 * 1000 AS age_ms
  FROM campaign_run_merged WHERE run_id = $1 AND person = ANY($2::text[])`;
/** In one order, so that two statements never wait for each other. */
const CLAIM = `INSERT INTO campaign_run_merged (run_id, person, sends_as)
  SELECT $1, person, sends_as FROM unnest($2::text[], $3::text[]) AS w (person, sends_as) ORDER BY person
  ON CONFLICT (run_id, person) DO NOTHING`;

async function claim(
  database: Pick<Database, 'query'>,
  runId: number,
  recipients: readonly MergedRecipient[],
): Promise<Map<string, Claim>> {
  const people = [...new Set(recipients.map(({ person }) => person))];
  const read = async () => {
    const { rows } = await database.query<{ person: string; sends_as: string; age_ms: number }>(
      READ,
      [runId, people],
    );
    return new Map(
      rows.map(({ person, sends_as: sendsAs, age_ms: ageMs }) => [person, { sendsAs, ageMs }]),
    );
  };
  const known = await read();
  const first = new Map<string, string>();
  for (const { person, key } of recipients)
    if (!known.has(person) && !first.has(person)) first.set(person, key);
  if (first.size === 0) return known;
  await database.query(CLAIM, [runId, [...first.keys()], [...first.values()]]);
  return await read();
}

/** A chunk has its recipients in the order of their keys: one of them at most has this one. */
const OPENED = `SELECT w.key, c.record, c.opened FROM unnest($2::text[]) AS w (key) CROSS JOIN LATERAL (
    SELECT m.record, m.opened FROM message_chunks m WHERE m.run_id = $1 AND m.first_key <= w.key ORDER BY m.first_key DESC LIMIT 1
  ) c WHERE position(convert_to(w.key, 'UTF8') IN c.record) > 0`;

/** Those of the recipients and of who is the same person whose attempt is recorded. */
async function openedKeys(
  database: Pick<Database, 'query'>,
  runId: number,
  recipients: readonly MergedRecipient[],
): Promise<Set<string>> {
  const keys = new Set(recipients.flatMap(({ key, others }) => [key, ...others]));
  const { rows } = await database.query<{ key: string; record: Uint8Array; opened: Uint8Array }>(
    OPENED,
    [runId, [...keys]],
  );
  return new Set(
    rows.flatMap(({ key, record, opened }) => {
      const chunk = messageChunkCodec.decode(Buffer.from(record));
      const index = chunk.recipients.findIndex((recipient) => recipient.key === key);
      return index >= 0 && hasBit(Buffer.from(opened), index) ? [key] : [];
    }),
  );
}
