import { ErasedPeople } from '../../events/erasure/erased-people.ts';
import { hasRow } from '../../events/erasure/row-batch.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { epochAsOf, readEpochs, type TopicEpochs } from '../../platform/log/epochs.ts';
import { eraserOf, isPersonal } from '../../platform/log/erasures.ts';
import {
  channelCommandCodec,
  deadLetterCodec,
  decodeIfReadable,
  identityCommandCodec,
  messageChunkCodec,
  messageOutcomeCodec,
  UnreadableRecord,
} from '../../schemas/codec.ts';
import { rawAccountOf } from '../../schemas/raw-head.ts';
import { rawValuesIn } from '../../schemas/raw-batch.ts';
import { sliceRowBatch } from '../../schemas/row-batch.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { holds, type Needle } from './needles.ts';
import type { Search } from './findings.ts';

/** A record of a topic, from Kafka or from the archive. */
export type SearchedRecord = Pick<
  ConsumedMessage,
  'topic' | 'partition' | 'offset' | 'timestamp' | 'key' | 'value'
>;

/** What a record holds: something to erase, or the name of the person in somebody else's event. */
export type Held = 'finding' | 'mention' | undefined;

/** Searches one record. @param epochs where they are not those of today's log */
export type RecordSearch = (record: SearchedRecord, epochs?: Partial<Epochs>) => Held;

/** Searches records of topics for a person. */
export async function recordSearch(
  connections: Connections,
  { erasure, needles }: Pick<Search, 'erasure' | 'needles'>,
): Promise<RecordSearch> {
  const { database } = connections;
  const people = await erasedPeople(connections, erasure);
  const today: Epochs = {
    raw: await readEpochs(database, TOPIC.raw),
    dead: await readEpochs(database, TOPIC.dead),
  };
  return (record, changed) => {
    const { topic } = record;
    const epochs = changed ? { ...today, ...changed } : today;
    const held = heldBy(record, needles, { erasure, people, epochs });
    // Exactly what a rewrite of the log would change.
    if (isChanged(eraserOf(topic, people, epochs), record)) return 'finding';
    if (held.length === 0) return undefined;
    return held.every(({ isName }) => isName) && isPersonal(topic) ? 'mention' : 'finding';
  };
}

async function erasedPeople(
  { database }: Connections,
  {
    id,
    accountId,
    keyId,
    hashes,
    addressHashes,
    cuts = [],
    requestedAt,
    messagesUntil,
  }: Search['erasure'],
): Promise<ErasedPeople> {
  const { rows } = await database.query<{ id: number; key: Buffer }>(
    'SELECT id, key FROM erasure_keys WHERE key IS NOT NULL',
  );
  const names = hashes.map((hash) => hash.toString('hex'));
  const addresses = addressHashes.map((hash) => hash.toString('hex'));
  const erasure = { id, accountId, keyId, names, addresses, cuts, requestedAt, messagesUntil };
  return new ErasedPeople([erasure], new Map(rows.map((row) => [row.id, row.key])));
}

interface Epochs {
  raw: TopicEpochs;
  dead: TopicEpochs;
}

interface Known {
  erasure: Search['erasure'];
  people: ErasedPeople;
  epochs: Epochs;
}

function isChanged(erase: ReturnType<typeof eraserOf>, message: SearchedRecord): boolean {
  try {
    return erase(message) !== undefined;
  } catch (error) {
    // A record of a newer release: what it holds is searched.
    if (error instanceof UnreadableRecord) return false;
    throw error;
  }
}

/** Below this, bytes of numbers and hashes equal a name by chance. */
const SHORTEST = 4;

/** The needles that the record holds about the account before the cut. */
function heldBy(message: SearchedRecord, needles: readonly Needle[], known: Known): Needle[] {
  if (message.topic !== TOPIC.raw || message.value === null)
    return heldByOne(message, needles, known);
  // A batch holds records of several accounts.
  const held = new Set(
    valuesIn(message.value).flatMap((value) => heldByOne({ ...message, value }, needles, known)),
  );
  return [...held];
}

/** Damaged bytes are searched as they are. */
function valuesIn(value: Buffer): readonly Buffer[] {
  try {
    return rawValuesIn(value);
  } catch (error) {
    if (error instanceof UnreadableRecord) return [value];
    throw error;
  }
}

function heldByOne(message: SearchedRecord, needles: readonly Needle[], known: Known): Needle[] {
  const { topic, key, value } = message;
  const bytes = Buffer.concat([key ?? Buffer.alloc(0), value ?? Buffer.alloc(0)]);
  const held = needles.filter(
    (needle) =>
      holds(bytes, needle) &&
      (isPersonal(topic) || !needle.isName || Buffer.byteLength(needle.text) >= SHORTEST),
  );
  if (held.length === 0 || isLater(message, known)) return [];
  const { accountId } = known.erasure;
  const account = accountOf(message);
  if (account !== undefined && account !== accountId) return [];
  if (topic !== TOPIC.normalised || value === null) return held;
  // A record of events.normalised holds events of several accounts, before and after the cut.
  return held.filter((needle) =>
    hasRow(value, (row, encoded) => {
      const place = { epoch: row._epoch, partition: row._partition, offset: row._offset };
      return row.account_id === accountId && known.people.mayCover(place) && holds(encoded, needle);
    }),
  );
}

/** Undefined: of no account, or of several. */
function accountOf({ topic, value }: SearchedRecord): number | undefined {
  if (value === null) return undefined;
  switch (topic) {
    case TOPIC.raw:
      return rawAccountOf(value);
    case TOPIC.dead:
      return decodeIfReadable(deadLetterCodec, value)?.account_id ?? undefined;
    case TOPIC.identityCommands:
      return decodeIfReadable(identityCommandCodec, value)?.account_id;
    case TOPIC.channelCommands:
      return decodeIfReadable(channelCommandCodec, value)?.account_id;
    case TOPIC.messagesPlanned:
      return decodeIfReadable(messageChunkCodec, value)?.account_id;
    case TOPIC.messagesOutcomes:
      return decodeIfReadable(messageOutcomeCodec, value)?.account_id;
    default:
      return undefined;
  }
}

/** Whether everything in the record comes after the cut: it is about a new person. */
function isLater(message: SearchedRecord, { erasure, people, epochs }: Known): boolean {
  const { topic, partition, offset, timestamp, value } = message;
  switch (topic) {
    case TOPIC.raw:
      return !people.mayCover({ partition, offset, epoch: epochs.raw.at(partition, offset) });
    case TOPIC.normalised: {
      const head = value === null ? undefined : sliceRowBatch(value)?.head;
      return (
        head !== undefined &&
        !people.mayCover({
          ...{ partition: head.partition, epoch: head.epoch, offset: head.first_offset },
        })
      );
    }
    case TOPIC.dead: {
      const deadLetter = decodeIfReadable(deadLetterCodec, value);
      if (deadLetter?.topic !== TOPIC.raw) return false;
      const writtenIn = epochs.dead.at(partition, offset);
      const epoch = epochAsOf(epochs.raw.of(deadLetter.partition), deadLetter.offset, writtenIn);
      return !people.mayCover({
        partition: deadLetter.partition,
        offset: deadLetter.offset,
        epoch,
      });
    }
    case TOPIC.channelCommands: {
      const command = decodeIfReadable(channelCommandCodec, value);
      return command !== undefined && command.received_at > erasure.requestedAt;
    }
    case TOPIC.messagesPlanned: {
      const chunk = decodeIfReadable(messageChunkCodec, value);
      return chunk !== undefined && chunk.planned_at > messagesUntil(erasure);
    }
    case TOPIC.messagesOutcomes: {
      const outcome = decodeIfReadable(messageOutcomeCodec, value);
      return outcome !== undefined && outcome.planned_at > messagesUntil(erasure);
    }
    default:
      return timestamp > erasure.requestedAt;
  }
}

function messagesUntil({ messagesUntil: until }: Search['erasure']): number {
  return until ?? Number.POSITIVE_INFINITY;
}
