import { table } from '../../cli/terminal.ts';
import { timeText } from '../../cli/format.ts';
import { readEpochs } from '../../platform/log/epochs.ts';
import { tracesNamedBy } from '../../platform/http/trace.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { commandLines, commandsJson, findCommands, type TracedCommand } from './commands.ts';
import { positionKey, type RawOccurrence } from './evidence.ts';
import type { Sources } from './gather.ts';
import {
  COMMANDS_RECENT,
  COMMANDS_SINCE,
  RECENT,
  RECENT_MS,
  searchRaw,
  SINCE,
} from './log-search.ts';
import { rowsOfTrace, type TracedRow } from './warehouse.ts';

/** An event of a request. */
export interface TracedEvent {
  accountId: number;
  messageId: string;
  /** Name or type; empty when it is not stored. */
  event: string;
  /** ms since the epoch */
  receivedAt: number;
  /** partition/offset/index in events.raw */
  position: string;
  isStored: boolean;
}

export interface FoundTrace {
  events: TracedEvent[];
  /** Changes of channels: registrations, consents and the like. */
  commands: TracedCommand[];
  /** Where it was searched, and what did not answer, one phrase each. */
  searched: string[];
  /** There are more events than were read. */
  isCut: boolean;
}

interface TraceQuestion {
  trace: string;
  /** undefined: all accounts */
  accountId: number | undefined;
  /** Search from this time on, ms since the epoch. */
  since: number | undefined;
  now: number;
}

const MAX_EVENTS = 100;

/**
 * The events of a request: stored ones by their column, and what the log has of it, which includes
 * duplicates, dead letters and events that are not stored yet. Nothing rejects.
 */
export async function findTrace(sources: Sources, question: TraceQuestion): Promise<FoundTrace> {
  const { accountId, since, now } = question;
  const traces = tracesNamedBy(question.trace);
  const searchTrace = async () =>
    searchRaw({
      admin: await sources.admin(),
      epochs: await readEpochs(sources.database, TOPIC.raw),
      ...{ reader: sources.reader, wanted: { traces, accountId } },
      ...{ from: since ?? now - RECENT_MS, to: undefined, partition: undefined },
      budget: since === undefined ? RECENT : SINCE,
    });
  const searchCommands = async () =>
    findCommands(
      { admin: await sources.admin(), reader: sources.reader, database: sources.database },
      {
        ...{ traces, accountId, from: since ?? now - RECENT_MS },
        budget: since === undefined ? COMMANDS_RECENT : COMMANDS_SINCE,
      },
    );
  // One after the other: the reader reads one range at a time.
  const searchLog = async () => {
    const events = await outcome(searchTrace());
    const changes = await outcome(searchCommands());
    return { events, changes };
  };
  const [stored, { events: raw, changes }] = await Promise.all([
    outcome(rowsOfTrace(sources.clickhouse, { traces, accountId, since, limit: MAX_EVENTS + 1 })),
    searchLog(),
  ]);
  const rows = stored.status === 'fulfilled' ? stored.value : [];
  const found = raw.status === 'fulfilled' ? raw.value.found : [];
  const { commands, searched } =
    changes.status === 'fulfilled'
      ? changes.value
      : { commands: [], searched: `not ${TOPIC.channelCommands} (${messageOf(changes.reason)})` };
  return {
    ...combine(rows, found),
    commands,
    searched: [
      stored.status === 'fulfilled'
        ? `the stored events${since === undefined ? '' : ` since ${timeText(since)}`}`
        : `not the stored events (${messageOf(stored.reason)})`,
      raw.status === 'fulfilled'
        ? `${raw.value.searched}${raw.value.complete ? '' : ' (incomplete)'}`
        : `not events.raw (${messageOf(raw.reason)})`,
      searched,
    ],
  };
}

/** Stored events first, then those that only the log has. */
export function combine(
  rows: readonly TracedRow[],
  found: readonly RawOccurrence[],
): Omit<FoundTrace, 'searched' | 'commands'> {
  const stored = rows.map((row): TracedEvent => ({
    ...{ accountId: row.account_id, messageId: row.message_id },
    ...{ event: row.event || row.type, receivedAt: row.received_at, isStored: true },
    position: positionText(row),
  }));
  const keys = new Set(rows.map(positionKey));
  const others = found
    .filter((one) => !keys.has(positionKey(one)))
    .map((one): TracedEvent => ({
      ...{ accountId: one.accountId, messageId: one.messageId, receivedAt: one.receivedAt },
      ...{ event: '', isStored: false, position: positionText(one) },
    }));
  const events = [...stored, ...others];
  return { events: events.slice(0, MAX_EVENTS), isCut: events.length > MAX_EVENTS };
}

export function traceLines(
  trace: string,
  { events, commands, searched, isCut }: FoundTrace,
): string[] {
  const where = `searched ${searched.join(' and ')}`;
  const changes = commandLines({ commands });
  if (events.length === 0 && changes.length > 0)
    return [`no event of trace ${trace}: ${where}`, ...changes];
  if (events.length === 0)
    return [
      `no event of trace ${trace}: ${where}`,
      'Its events were rejected, or are older than that (--since TIME searches the log further back), or were stored before rows had traces. A rejected event leaves only its code in the quality report.',
    ];
  const cells = events.map(({ accountId, messageId, event, receivedAt, position, isStored }) => [
    ...[String(accountId), messageId, event || '-', timeText(receivedAt)],
    ...[position, isStored ? 'stored' : 'no row here'],
  ]);
  return [
    `${isCut ? `the first ${events.length}` : events.length} events of trace ${trace}; ${where}`,
    ...table(['account', 'message id', 'event', 'received', 'events.raw', 'row'], cells),
    './ravand why MESSAGE_ID --account ID follows one of them',
    ...changes,
  ];
}

/** The --json form; its field names are a contract with scripts. */
export function traceJson(
  trace: string,
  { events, commands, searched, isCut }: FoundTrace,
): object {
  return {
    trace,
    events: events.map(({ accountId, messageId, event, receivedAt, position, isStored }) => ({
      account_id: accountId,
      message_id: messageId,
      event,
      received_at: new Date(receivedAt).toISOString(),
      position,
      stored: isStored,
    })),
    commands: commandsJson({ commands }),
    more: isCut,
    searched,
  };
}

function positionText(at: { partition: number; offset: number; index: number }): string {
  return `${at.partition}/${at.offset}/${at.index}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function outcome<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [found] = await Promise.allSettled([work]);
  return found;
}
