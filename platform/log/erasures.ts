import { eraseFromChannelCommand } from '../../events/erasure/channel-command.ts';
import { eraseFromDeadLetter } from '../../events/erasure/dead-letter.ts';
import { ErasedPeople, type Erasure } from '../../events/erasure/erased-people.ts';
import { eraseFromIdentityCommand } from '../../events/erasure/identity-command.ts';
import {
  eraseFromMessageChunk,
  eraseFromMessageOutcome,
} from '../../events/erasure/message-records.ts';
import { eraseFromRaw } from '../../events/erasure/raw-record.ts';
import { eraseFromRowBatch } from '../../events/erasure/row-batch.ts';
import type { ErasureCut } from '../../schemas/records.ts';
import { TOPIC, type Topic } from '../../schemas/topology.ts';
import type { ConsumedMessage } from '../kafka/consumer-types.ts';
import type { Database } from '../postgres/pool.ts';
import { epochAsOf, readEpochs, type TopicEpochs } from './epochs.ts';
import { ERASURES_POLL_MS, loadErasures, pollErasures, type PollOptions } from './erasures-poll.ts';

type Queries = Pick<Database, 'query'>;

/** A record of a topic. */
interface LogRecord {
  partition: number;
  offset: number;
  value: Buffer | null;
}

/** The value without what was erased; undefined: nothing of the record was. */
type EraseFrom = (record: LogRecord) => Buffer | undefined;

/** The topics that hold personal data. */
export const PERSONAL_TOPICS: readonly Topic[] = [
  TOPIC.raw,
  TOPIC.normalised,
  TOPIC.dead,
  TOPIC.identityCommands,
  TOPIC.channelCommands,
  TOPIC.messagesPlanned,
  TOPIC.messagesOutcomes,
];

/** Whether records of the topic hold personal data. */
export function isPersonal(topic: string): boolean {
  return PERSONAL_TOPICS.some((personal) => personal === topic);
}

interface Epochs {
  raw: TopicEpochs;
  dead: TopicEpochs;
}

/** What is erased from the records of a topic. Throws UnreadableRecord for an unknown schema. */
export function eraserOf(topic: string, erased: ErasedPeople, epochs: Epochs): EraseFrom {
  switch (topic) {
    case TOPIC.raw:
      return ({ partition, offset, value }) => {
        if (value === null || erased.isEmpty) return undefined;
        const epoch = epochs.raw.at(partition, offset);
        return eraseFromRaw({ epoch, partition, offset, value }, erased);
      };
    case TOPIC.normalised:
      return ({ value }) => (value === null ? undefined : eraseFromRowBatch(value, erased));
    case TOPIC.dead:
      return ({ partition, offset, value }) => {
        if (value === null) return undefined;
        const writtenIn = epochs.dead.at(partition, offset);
        return eraseFromDeadLetter(value, erased, (deadLetter) =>
          epochAsOf(epochs.raw.of(deadLetter.partition), deadLetter.offset, writtenIn),
        );
      };
    case TOPIC.identityCommands:
      return ({ value }) => (value === null ? undefined : eraseFromIdentityCommand(value, erased));
    case TOPIC.channelCommands:
      return ({ value }) => (value === null ? undefined : eraseFromChannelCommand(value, erased));
    case TOPIC.messagesPlanned:
      return ({ value }) => (value === null ? undefined : eraseFromMessageChunk(value, erased));
    case TOPIC.messagesOutcomes:
      return ({ value }) => (value === null ? undefined : eraseFromMessageOutcome(value, erased));
    default:
      return () => undefined;
  }
}

/**
 * Which erasures a reader obeys. A live consumer: those whose cut every group has passed, so that
 * what it counts stays exact. What repeats the log: each one that has a cut. Who sends messages:
 * each one that is known, before its cut is taken.
 */
type Obeyed = 'enforced' | 'recorded' | 'requested';

const STATES: Record<Obeyed, readonly string[]> = {
  enforced: ['enforced', 'removed'],
  recorded: ['recorded', 'enforced', 'removed'],
  requested: ['requested', 'recorded', 'enforced', 'removed'],
};

interface Row {
  id: string;
  account_id: string;
  key_id: number;
  name_hashes: Buffer[];
  address_hashes: Buffer[];
  cuts: ErasureCut[] | null;
  requested_at: number;
  messages_until: number | null;
}

/** Erasures that are not complete in the log itself, with their keys. */
export async function readErasures(database: Queries, obeyed: Obeyed): Promise<ErasedPeople> {
  return read(database, 'state = ANY($1::text[])', STATES[obeyed]);
}

/** Some erasures, whatever their states. */
export async function readErasuresById(
  database: Queries,
  ids: readonly number[],
): Promise<ErasedPeople> {
  return read(database, 'id = ANY($1::bigint[])', ids);
}

async function read(
  database: Queries,
  condition: string,
  values: readonly unknown[],
): Promise<ErasedPeople> {
  const { rows } = await database.query<Row>(
    `SELECT id, account_id, key_id, name_hashes, address_hashes, cuts,
       extract(epoch FROM requested_at)::float8 * 1000 AS requested_at,
       extract(epoch FROM messages_until)::float8 * 1000 AS messages_until
     FROM erasures WHERE ${condition} ORDER BY id`,
    [values],
  );
  if (rows.length === 0) return new ErasedPeople([], new Map());
  const keys = await database.query<{ id: number; key: Buffer }>(
    'SELECT id, key FROM erasure_keys WHERE key IS NOT NULL',
  );
  return new ErasedPeople(rows.map(erasureOf), new Map(keys.rows.map(({ id, key }) => [id, key])));
}

function erasureOf(row: Row): Erasure {
  const { id, account_id, key_id, name_hashes, address_hashes, cuts, requested_at } = row;
  return {
    id: Number(id),
    accountId: Number(account_id),
    keyId: key_id,
    names: name_hashes.map((hash) => Buffer.from(hash).toString('hex')),
    addresses: address_hashes.map((hash) => Buffer.from(hash).toString('hex')),
    requestedAt: requested_at,
    messagesUntil: row.messages_until ?? undefined,
    cuts: cuts ?? [],
  };
}

/** What a reader of the log knows about erasures. */
export class ErasureView {
  readonly #erased: ErasedPeople;
  readonly #epochs: Epochs | undefined;

  private constructor(erased: ErasedPeople, epochs: Epochs | undefined) {
    this.#erased = erased;
    this.#epochs = epochs;
  }

  static async read(database: Queries, obeyed: Obeyed): Promise<ErasureView> {
    const erased = await readErasures(database, obeyed);
    if (erased.isEmpty) return new ErasureView(erased, undefined);
    const raw = await readEpochs(database, TOPIC.raw);
    return new ErasureView(erased, { raw, dead: await readEpochs(database, TOPIC.dead) });
  }

  get isEmpty(): boolean {
    return this.#erased.isEmpty;
  }

  /** Undefined: nothing is erased. */
  eraserOf(topic: string): EraseFrom | undefined {
    return this.#epochs && eraserOf(topic, this.#erased, this.#epochs);
  }

  /** The record as it is after the erasure. */
  reader(topic: string): (message: ConsumedMessage) => ConsumedMessage {
    const erase = this.eraserOf(topic);
    if (!erase) return (message) => message;
    return (message) => {
      const value = erase(message);
      return value === undefined ? message : { ...message, value };
    };
  }
}

interface FollowOptions extends PollOptions {
  database: Queries;
  topic: string;
}

/** The erasures that a live consumer of a topic obeys, followed until the signal aborts. */
export class FollowedErasures {
  readonly #options: FollowOptions;
  #read: (message: ConsumedMessage) => ConsumedMessage = (message) => message;
  #isEmpty = false;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** Reads them whenever the time has come. */
  follow(): Promise<void> {
    const isEmpty = () => this.#isEmpty;
    return pollErasures({ ...this.#options, isEmpty }, () => this.#load());
  }

  /** Resolves when they were read; awaited before a partition is processed. */
  refresh(signal: AbortSignal): Promise<void> {
    return loadErasures({ ...this.#options, signal }, () => this.#load());
  }

  /** The record without what was erased. */
  readonly read = (message: ConsumedMessage): ConsumedMessage => this.#read(message);

  async #load(): Promise<void> {
    const { database, topic } = this.#options;
    const view = await recentView(database);
    this.#read = view.reader(topic);
    this.#isEmpty = view.isEmpty;
  }
}

const recent = new WeakMap<Queries, { readAt: number; view: Promise<ErasureView> }>();

/** The consumers of a process share what was read less than half of the poll's time ago. */
function recentView(database: Queries): Promise<ErasureView> {
  const known = recent.get(database);
  const readAt = performance.now();
  if (known && readAt - known.readAt < ERASURES_POLL_MS / 2) return known.view;
  const view = ErasureView.read(database, 'enforced');
  recent.set(database, { readAt, view });
  view.catch(() => recent.delete(database));
  return view;
}
