import { admin } from '../stack.ts';

/** `./ravand admin addresses`. */
export interface PersonAddresses {
  addresses: {
    channel: string;
    kind: string;
    id: string;
    provider: string;
    active: boolean;
    reason: string;
    updated_at: string;
  }[];
  consents: Record<string, string>;
}

export function addressesOf(accountId: number, userId: string): Promise<PersonAddresses> {
  return admin('addresses', '--account', String(accountId), '--user-id', userId);
}

/** `./ravand admin consent show`. */
export interface PersonConsents {
  chains: {
    user_id: string;
    entries: { channel: string; state: string; source: string; text_version: string; ip: string }[];
    broken_at: number | null;
  }[];
  verified: boolean;
}

export function consentsOf(accountId: number, userId: string): Promise<PersonConsents> {
  return admin('consent', 'show', '--account', String(accountId), '--user-id', userId);
}
