import { escapeText, unescapeText } from '../../platform/postgres/escaped-text.ts';
import type { Store } from '../store.ts';

/** Distinct ids of a person that are shown. */
const MAX_NAMES = 200;

export interface PersonNames {
  canonical: string;
  /** Of each distinct id: the id that an alias merged it into, and when. */
  names: { name: string; joined_to: string | null; joined_at: string | null }[];
  isCut: boolean;
}

/** An address of a channel, without its token. */
export interface PersonAddress {
  channel: string;
  address_id: string;
  registered_at: string;
  /** Empty: active. */
  reason: string;
}

const NAMES = `SELECT name, joined_to, received_at::float8 FROM identity_names WHERE account_id = $1 AND canonical = $2
  ORDER BY joined_to IS NOT NULL, received_at, name LIMIT ${MAX_NAMES + 1}`;

/** The names and the addresses of people. */
export function namesStore(store: Store) {
  return {
    /** An id that no alias mentions is a person of its own. */
    async namesOf(accountId: number, distinctId: string): Promise<PersonNames> {
      const known = await store.query<{ canonical: string }>(
        'SELECT canonical FROM identity_names WHERE account_id = $1 AND name = $2',
        [accountId, escapeText(distinctId)],
      );
      const canonical = known.rows[0]?.canonical ?? escapeText(distinctId);
      const { rows } = await store.query<{
        name: string;
        joined_to: string | null;
        received_at: number;
      }>(NAMES, [accountId, canonical]);
      const names = rows.slice(0, MAX_NAMES).map(({ name, joined_to, received_at }) => ({
        name: unescapeText(name),
        joined_to: joined_to === null ? null : unescapeText(joined_to),
        joined_at: joined_to === null ? null : new Date(received_at).toISOString(),
      }));
      return {
        canonical: unescapeText(canonical),
        names: names.length > 0 ? names : [{ name: distinctId, joined_to: null, joined_at: null }],
        isCut: rows.length > MAX_NAMES,
      };
    },
    async addressesOf(accountId: number, names: readonly string[]): Promise<PersonAddress[]> {
      const { rows } = await store.query<{
        channel: string;
        address_id: string;
        received_at: number;
        reason: string;
      }>(
        `SELECT channel, address_id, received_at::float8, reason FROM channel_address_states
         WHERE account_id = $1 AND (user_id = ANY($2::text[]) AND user_id <> '' OR anonymous_id = ANY($2::text[]) AND anonymous_id <> '')
         ORDER BY received_at DESC LIMIT ${MAX_NAMES}`,
        [accountId, names.map(escapeText)],
      );
      return rows.map(({ received_at, ...address }) => ({
        ...address,
        registered_at: new Date(received_at).toISOString(),
      }));
    },
  };
}

export type NamesStore = ReturnType<typeof namesStore>;
