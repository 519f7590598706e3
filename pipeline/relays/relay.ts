import { relayPurpose } from '../../events/relays/definition.ts';
import type { Filter } from '../../events/relays/filter.ts';
import { compileSelection, type MatchedEvent } from '../../events/relays/match.ts';
import { SealError, type Sealer } from '../../platform/sealing.ts';

/** How requests are signed. `sealed`: the secret cannot be opened; nothing is sent. */
export type RelaySecret =
  { kind: 'none' } | { kind: 'opened'; secret: string } | { kind: 'sealed'; problem: string };

/** An enabled relay with its compiled selection. */
export interface Relay {
  id: number;
  accountId: number;
  url: string;
  secret: RelaySecret;
  matches: (event: MatchedEvent) => boolean;
}

/** A row of the table relays. */
export interface RelayRow {
  id: number;
  accountId: number;
  url: string;
  events: readonly string[];
  filters: readonly Filter[];
  secret: Buffer | null;
  /** ms since the epoch */
  activeSince: number;
}

export function relayOf(row: RelayRow, sealer: Sealer | undefined): Relay {
  const { id, accountId, url } = row;
  return { id, accountId, url, secret: openSecret(row, sealer), matches: compileSelection(row) };
}

function openSecret(row: RelayRow, sealer: Sealer | undefined): RelaySecret {
  if (row.secret === null) return { kind: 'none' };
  if (!sealer)
    return {
      kind: 'sealed',
      problem: 'waits: the secret is sealed and SEALING_KEY is not set; nothing is sent unsigned',
    };
  try {
    return { kind: 'opened', secret: sealer.open(row.secret, relayPurpose(row)) };
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return {
      kind: 'sealed',
      problem: `waits: the secret cannot be opened (${error.message}); nothing is sent unsigned`,
    };
  }
}
