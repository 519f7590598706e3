import type { QuotaVerdict } from '../events/quota.ts';

/** The account, app and write key that a request is authenticated for. */
export interface Principal {
  accountId: number;
  /** 0: the events belong to no app. */
  appId: number;
  /** 0: the request carried no write key. */
  writeKeyId: number;
}

/** What the acceptance of an account's events depends on. */
export interface AccountFacts {
  /** Days; 0 for ever; undefined when it cannot be read: then 30 days apply (ingest 2.4). */
  retentionDays: number | undefined;
  quota: QuotaVerdict;
}
