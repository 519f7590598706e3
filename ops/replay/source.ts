import { TOPIC } from '../../schemas/topology.ts';
import { ContextReader } from '../../events/normalise.ts';
import { wholeRows, type RowMaker } from '../../events/raw/decide.ts';
import { UserAgentCache } from '../../events/user-agent.ts';
import { readRawEvents, type RawEvent } from '../../pipeline/replay/raw-events.ts';
import { eventOffsetKey, type EventOffset } from '../../schemas/log-position.ts';
import { readEpochs, type TopicEpochs } from '../../platform/log/epochs.ts';
import { ErasureView } from '../../platform/log/erasures.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import { readRange, type LogRange } from '../../platform/kafka/read-range.ts';
import type { EventRow, VerdictKind } from '../../schemas/records.ts';
import type { Connections } from '../jobs/connections.ts';
import type { ReplayTopic } from './request.ts';
import { POSITION_FIELDS } from '../../schemas/row-reader.ts';
import { openVerdicts, type Verdicts } from './verdicts.ts';
import { decodeIfReadable, rowBatchCodec } from '../../schemas/codec.ts';
import { claimId, claimScope, type ClaimId } from '../../events/claims/claim-id.ts';

/** An event of the replayed range with the verdict that the pipeline recorded for its position. */
export type SourceEvent<Row = EventRow> = RawEvent<Row>;

/** Consecutive records of one partition of the replayed topic. */
export interface SourceBatch<Row = EventRow> {
  partition: number;
  /** Offsets, both included. */
  first: number;
  last: number;
  /** When the last record was appended, ms since the epoch. */
  appendedAt: number;
  events: SourceEvent<Row>[];
  /** Records that cannot be decoded. */
  unreadable: number;
}

/** The fields of a row of events.normalised that identify its event. */
export const SOURCE_FIELDS = [
  ...POSITION_FIELDS,
  ...(['account_id', 'message_id', '_dedupe_id', 'received_at'] as const),
] as const;
export type SourceRow = Pick<EventRow, (typeof SOURCE_FIELDS)[number]>;

/** The rows of a record of events.normalised, decoded as far as the caller needs them. */
export type ReadRows<Row extends SourceRow> = (
  value: Buffer | null,
) => readonly (Row | EventRow)[] | undefined;

/** Makes rows of events of events.raw as far as the caller needs them, for one reader. */
export type RawRows<Row extends SourceRow> = (contexts: ContextReader) => RowMaker<Row | EventRow>;

/** How rows are made of either topic. */
export interface RowsOf<Row extends SourceRow> {
  normalised: ReadRows<Row>;
  raw: RawRows<Row>;
}

interface SourceOptions<Row extends SourceRow> {
  connections: Connections;
  topic: ReplayTopic;
  partition: number;
  from: number;
  to: number;
  /** A batch ends with the record that reaches this number of events. */
  maxEvents: number;
  /** Whole rows by default. */
  rows?: RowsOf<Row> | undefined;
  signal: AbortSignal;
}

const REMEMBERED_USER_AGENTS = 10_000;

/** Parses one record into its events. */
type Parser<Row> = (message: ConsumedMessage) => {
  events: SourceEvent<Row>[];
  unreadable: boolean;
};

/** The events of a range of the log, in order, in batches. */
export async function* sourceBatches<Row extends SourceRow = EventRow>(
  options: SourceOptions<Row>,
): AsyncGenerator<SourceBatch<Row | EventRow>, void, void> {
  const { connections, topic, partition, from, to, maxEvents: most, signal } = options;
  const range: LogRange = { topic, partition, from, to };
  const contexts = new ContextReader(new UserAgentCache(REMEMBERED_USER_AGENTS));
  const epochs = await readEpochs(connections.database, TOPIC.raw);
  const withoutErased = (await ErasureView.read(connections.database, 'recorded')).reader(topic);
  const read: Parser<Row | EventRow> =
    topic === TOPIC.raw
      ? rawParser((options.rows?.raw ?? wholeRows)(contexts), epochs)
      : rowBatchParser(options.rows?.normalised ?? wholeRowBatch);
  let verdicts: Verdicts | undefined;
  let batch: SourceBatch<Row | EventRow> | undefined;
  const finish = async (
    done: SourceBatch<Row | EventRow>,
  ): Promise<SourceBatch<Row | EventRow>> => {
    if (topic !== TOPIC.raw) return done;
    const found = await verdicts?.log.between(done.first, done.last);
    for (const event of done.events) {
      if (found && found.size > 0) event.verdict = found.get(eventOffsetKey(event.at));
      event.verdictsKnown = event.at.offset >= (verdicts?.coveredFrom ?? Number.POSITIVE_INFINITY);
    }
    return done;
  };
  try {
    for await (const messages of readRange({
      settings: connections.settings,
      clientId: 'ravand-replay',
      range,
      signal,
    })) {
      for (const message of messages) {
        if (topic === TOPIC.raw)
          verdicts ??= await openVerdicts(connections, {
            partition,
            appendedAt: message.timestamp,
            signal,
          });
        const { offset, timestamp } = message;
        batch ??= {
          partition,
          first: offset,
          last: offset,
          appendedAt: timestamp,
          events: [],
          unreadable: 0,
        };
        const { events, unreadable } = read(withoutErased(message));
        batch.last = offset;
        batch.appendedAt = timestamp;
        for (const event of events) batch.events.push(event);
        if (unreadable) batch.unreadable++;
        if (batch.events.length < most && batch.last - batch.first < 10 * most) continue;
        yield await finish(batch);
        batch = undefined;
      }
    }
    if (batch) yield await finish(batch);
  } finally {
    await verdicts?.log.close();
  }
}

/** @param epochs of events.raw */
function rawParser<Row>(makeRow: RowMaker<Row>, epochs: TopicEpochs): Parser<Row> {
  const epochOf = (of: number, offset: number) => epochs.at(of, offset);
  return (message) => {
    const { events, unreadable } = readRawEvents(message, { makeRow, epochOf });
    return { events, unreadable: unreadable !== undefined };
  };
}

function rowBatchParser<Row extends SourceRow>(readRows: ReadRows<Row>): Parser<Row | EventRow> {
  return ({ value }) => {
    const rows = readRows(value);
    return { events: rows?.map(eventOfRow) ?? [], unreadable: rows === undefined };
  };
}

function wholeRowBatch(value: Buffer | null): EventRow[] | undefined {
  return decodeIfReadable(rowBatchCodec, value)?.rows;
}

/** Rows of a record of events.normalised, or undefined if it cannot be decoded. */
export function rowBatchEvents(value: Buffer | null): SourceEvent[] | undefined {
  return wholeRowBatch(value)?.map(eventOfRow);
}

function eventOfRow<Row extends SourceRow>(row: Row): SourceEvent<Row> {
  return new EventOfRow(row);
}

/** A class, as AcceptedEvent is one (pipeline/replay/raw-events.ts). */
class EventOfRow<Row extends SourceRow> implements SourceEvent<Row> {
  readonly epoch: number;
  readonly at: EventOffset;
  readonly partition: number;
  readonly accountId: number;
  readonly messageId: string;
  readonly receivedAt: number;
  readonly redrivenFrom = undefined;
  readonly row: Row;
  readonly reason = '';
  verdict: VerdictKind | undefined = undefined;
  verdictsKnown = true;

  constructor(row: Row) {
    this.epoch = row._epoch;
    this.at = { offset: row._offset, index: row._index };
    this.partition = row._partition;
    this.accountId = row.account_id;
    this.messageId = row.message_id;
    this.receivedAt = row.received_at;
    this.row = row;
  }

  /** Hashed when it is asked for: a rebuild does not. */
  get claim(): ClaimId {
    const { account_id: account, message_id, _dedupe_id } = this.row;
    return _dedupe_id === ''
      ? claimId(claimScope(account, 'message'), message_id)
      : claimId(claimScope(account, 'acceptance'), _dedupe_id);
  }
}
