/** A table that commands of channels leave. */
export interface RegisterTable {
  name: string;
  /** Its primary key. */
  key: readonly string[];
  /** What is compared beside the key. */
  values: readonly string[];
  /** The other columns. */
  more: readonly string[];
}

const ORDER = ['received_at', 'gateway', 'sequence'];
/** Where the command was read. */
const PLACE = ['log_epoch', 'log_partition', 'log_offset'];

/**
 * The tables whose rows are the same whenever the log is read again. Which of several soft bounces
 * completed a suppression depends on the batches in which they were read, so only what follows from
 * it is compared.
 */
export const REGISTER_TABLES: readonly RegisterTable[] = [
  {
    name: 'channel_addresses',
    key: ['account_id', 'channel', 'address_id'],
    values: ['app_id', 'user_id', 'anonymous_id', 'token_hash', 'details', ...ORDER],
    more: PLACE,
  },
  {
    name: 'channel_ends',
    key: ['account_id', 'channel', 'user_id', 'address_id'],
    values: ['reason', ...ORDER],
    more: PLACE,
  },
  {
    name: 'channel_tokens',
    key: ['account_id', 'token_hash'],
    values: ['address_id', ...ORDER],
    more: PLACE,
  },
  {
    name: 'channel_consents',
    key: ['account_id', 'user_id', 'channel'],
    values: ['state', ...ORDER],
    more: PLACE,
  },
  {
    name: 'channel_suppressions',
    key: ['account_id', 'channel', 'address'],
    values: ['suppressed', 'reason'],
    more: ['user_id', ...ORDER, ...PLACE],
  },
  {
    name: 'soft_bounces',
    key: ['account_id', 'channel', 'address', 'message_ref'],
    values: ['received_at'],
    more: ['user_id', ...PLACE],
  },
  {
    name: 'consent_log',
    key: ['account_id', 'user_id', 'number'],
    values: ['channel', 'state', 'source', 'text_version', 'ip', 'user_agent', ...ORDER],
    more: ['hash', ...PLACE],
  },
];
