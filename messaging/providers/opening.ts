import type { Channel } from '../../events/channels/channel-change.ts';
import type { Log } from '../../platform/log.ts';
import type { OutboundGuard } from '../../platform/outbound/guard.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/** What the providers of a process share. */
export interface ProviderDeps {
  /** Guards every connection: hosts and addresses come from accounts and from visitors. */
  guard: OutboundGuard;
  /** Of the inbox. */
  database: Pick<Database, 'query'>;
  log: Log;
  /** ms since the epoch */
  now: () => number;
  /** In [0, 1). */
  random: () => number;
}

/** One sender of an account, beside its configuration. */
export interface Opening {
  channel: Channel;
  accountId: number;
  /** Opened; empty when the provider needs none. */
  secret: string;
  deps: ProviderDeps;
}
