import { BoundedMap } from '../platform/bounded-map.ts';

/** Of one client: the next one has the same counts, and more. */
const CLIENT_MS = 60_000;
/** Of one account, which can invent clients; a gateway records no more of them. */
const ACCOUNT_MS = 3_600_000;
const MAX_OF_ACCOUNT = 2000;

const MAX_CLIENTS = 50_000;
const MAX_ACCOUNTS = 10_000;

/**
 * Which balances of SDKs are recorded: one a minute of a client, and a bounded number an hour of an
 * account. Each is complete: what is left out costs timeliness.
 */
export function balanceAdmission(): (accountId: number, client: string, now: number) => boolean {
  const recorded = new BoundedMap<string, number>(MAX_CLIENTS);
  const accounts = new BoundedMap<number, { since: number; count: number }>(MAX_ACCOUNTS);
  return (accountId, client, now) => {
    const key = `${accountId} ${client}`;
    const last = recorded.get(key);
    if (last !== undefined && Math.abs(now - last) < CLIENT_MS) return false;
    let account = accounts.get(accountId);
    if (!account || Math.abs(now - account.since) >= ACCOUNT_MS) {
      account = { since: now, count: 0 };
      accounts.set(accountId, account);
    }
    if (account.count >= MAX_OF_ACCOUNT) return false;
    account.count++;
    recorded.set(key, now);
    return true;
  };
}
