import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { WantedRecipient } from './resolved.ts';

/** An active device, browser or chat. */
export interface KnownAddress {
  /** Device id, endpoint or chat id. */
  id: string;
  /** As it was registered; empty of a chat. */
  details: Readonly<Record<string, string>>;
  /** Of its last registration, ms since the epoch. */
  receivedAt: number;
}

/** What PostgreSQL knows of a recipient. Times: ms since the epoch. */
export interface RecipientFacts {
  canonical: string;
  /** Of the account's identities: when a name of the person changed last. */
  identityRevision: number;
  names: string[];
  addresses: KnownAddress[];
  consent: { state: string; receivedAt: number } | undefined;
  /** Of the last opt-out that a gateway announced. */
  optOutAt: number | undefined;
  /** Of the last complaint about the channel that still holds. */
  complaintAt: number | undefined;
}

interface Row {
  at: number;
  what: 'person' | 'name' | 'address' | 'consent' | 'opt_out' | 'complaint';
  id: string | null;
  details: string | null;
  received_at: string;
}

const FACTS =
  'SELECT * FROM message_recipient_facts($1::bigint[], $2::text[], $3::text[], $4::text[])';

/** The facts of each recipient, in one statement. Rejects when PostgreSQL does not answer. */
export async function readFacts(
  database: Pick<Database, 'query'>,
  wanted: readonly WantedRecipient[],
): Promise<RecipientFacts[]> {
  const { rows } = await database.query<Row>(FACTS, [
    wanted.map(({ accountId }) => accountId),
    wanted.map(({ channel }) => channel),
    wanted.map(({ personId }) => escapeText(personId)),
    wanted.map(({ userId }) => escapeText(userId)),
  ]);
  const all = wanted.map(({ personId }): RecipientFacts => ({
    ...{ canonical: personId, identityRevision: 0, names: [], addresses: [], consent: undefined },
    ...{ optOutAt: undefined, complaintAt: undefined },
  }));
  for (const row of rows) {
    const facts = all[row.at - 1];
    if (facts) addRow(facts, row);
  }
  return all;
}

function addRow(facts: RecipientFacts, { what, id, details, received_at }: Row): void {
  const receivedAt = Number(received_at);
  const text = unescapeText(id ?? '');
  switch (what) {
    case 'person':
      facts.canonical = text;
      facts.identityRevision = receivedAt;
      return;
    case 'name':
      facts.names.push(text);
      return;
    case 'address':
      facts.addresses.push({ id: text, details: detailsOf(details), receivedAt });
      return;
    case 'consent':
      facts.consent = { state: text, receivedAt };
      return;
    case 'opt_out':
      facts.optOutAt = receivedAt;
      return;
    case 'complaint':
      facts.complaintAt = receivedAt;
  }
}

/** Its texts are escaped one by one (projections/addresses/write-batch.ts). */
function detailsOf(json: string | null): Record<string, string> {
  const parsed: unknown = json === null ? null : JSON.parse(json);
  if (typeof parsed !== 'object' || parsed === null) return {};
  const texts = Object.entries(parsed).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(texts.map(([name, text]) => [name, unescapeText(text)]));
}

const SUPPRESSED = 'SELECT at FROM suppressed_addresses($1::bigint[], $2::text[], $3::text[])';

/** Which of the addresses are suppressed, in the order of the question. */
export async function readSuppressed(
  database: Pick<Database, 'query'>,
  addresses: readonly { accountId: number; channel: string; address: string }[],
): Promise<boolean[]> {
  if (addresses.length === 0) return [];
  const { rows } = await database.query<{ at: number }>(SUPPRESSED, [
    addresses.map(({ accountId }) => accountId),
    addresses.map(({ channel }) => channel),
    addresses.map(({ address }) => escapeText(address)),
  ]);
  const suppressed = new Set(rows.map(({ at }) => at));
  return addresses.map((_, index) => suppressed.has(index + 1));
}
