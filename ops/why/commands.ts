import type { Admin } from 'kafkajs';
import { countText, timeText } from '../../cli/format.ts';
import { table } from '../../cli/terminal.ts';
import type { ConsumedMessage } from '../../platform/kafka/consumer-types.ts';
import type { RangeReader } from '../../platform/kafka/read-range.ts';
import { epochAt, readEpochs, type TopicEpochs } from '../../platform/log/epochs.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { channelCommandCodec, decodeIfReadable } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { rangesBetween, sharedRanges, type SearchBudget } from './log-search.ts';

/** A change of a channel that a request made. */
export interface TracedCommand {
  accountId: number;
  kind: string;
  channel: string;
  /** ms since the epoch */
  receivedAt: number;
  /** partition/offset in channel.commands */
  position: string;
  /** addresses-sink has applied it. */
  isApplied: boolean;
}

interface FoundCommands {
  commands: TracedCommand[];
  /** Where it was searched, one phrase. */
  searched: string;
}

interface CommandQuestion {
  traces: readonly string[];
  /** undefined: all accounts */
  accountId: number | undefined;
  /** ms since the epoch */
  from: number;
  budget: SearchBudget;
}

interface CommandSources {
  admin: Admin;
  reader: RangeReader;
  database: Pick<Database, 'query'>;
}

/** The commands of a request within a time range of the log. Rejects when a server is away. */
export async function findCommands(
  { admin, reader, database }: CommandSources,
  { traces, accountId, from, budget }: CommandQuestion,
): Promise<FoundCommands> {
  const topic = TOPIC.channelCommands;
  const applied = await appliedUpTo(database);
  const commands: TracedCommand[] = [];
  const all = await rangesBetween({ admin }, { topic, from, to: undefined });
  const ranges = sharedRanges(all, budget.records);
  let isComplete = ranges.every(({ isCut }) => !isCut);
  for (const { partition, from: first, to } of ranges) {
    const limits = { records: budget.records, ms: budget.ms / ranges.length };
    const range = { topic, partition, from: first, to };
    const { ended } = await reader.search({ ...range, limits }, (record) => {
      const found = commandOf(record, { traces, accountId, applied });
      if (found) commands.push(found);
      return undefined;
    });
    if (ended === 'limit') isComplete = false;
  }
  const newest = isComplete ? '' : `the newest ${countText(budget.records)} records of `;
  return { commands, searched: `${newest}${topic} since ${timeText(from)}` };
}

type Applied = (partition: number, offset: number) => boolean;

/** What addresses-sink has applied, by its positions and the epochs of the log. */
async function appliedUpTo(database: Pick<Database, 'query'>): Promise<Applied> {
  const epochs: TopicEpochs = await readEpochs(database, TOPIC.channelCommands);
  const { rows } = await database.query<{ partition: number; epoch: number; next_offset: string }>(
    'SELECT partition, epoch, next_offset FROM channel_positions',
  );
  const positions = new Map(rows.map((row) => [row.partition, row]));
  return (partition, offset) => {
    const position = positions.get(partition);
    if (!position || Number(position.next_offset) <= offset) return false;
    return epochAt(epochs.of(partition), offset) <= position.epoch;
  };
}

/** The command of a record, when it is of one of the traces. */
export function commandOf(
  { value, partition, offset }: Pick<ConsumedMessage, 'value' | 'partition' | 'offset'>,
  wanted: Pick<CommandQuestion, 'traces' | 'accountId'> & { applied: Applied },
): TracedCommand | undefined {
  // Each of several traces contains the last one.
  if (!value?.includes(wanted.traces.at(-1) ?? '')) return undefined;
  const command = decodeIfReadable(channelCommandCodec, value);
  if (!command || !wanted.traces.includes(command.trace)) return undefined;
  const { account_id: accountId, kind, channel, received_at: receivedAt } = command;
  if (accountId !== (wanted.accountId ?? accountId)) return undefined;
  const position = `${partition}/${offset}`;
  const isApplied = wanted.applied(partition, offset);
  return { accountId, kind, channel, receivedAt, position, isApplied };
}

export function commandLines({ commands }: Pick<FoundCommands, 'commands'>): string[] {
  if (commands.length === 0) return [];
  const cells = commands.map(({ accountId, kind, channel, receivedAt, position, isApplied }) => [
    ...[String(accountId), kind, channel, timeText(receivedAt), position],
    isApplied ? 'applied' : 'waits for addresses-sink',
  ]);
  return [
    `${commands.length} changes of channels`,
    ...table(['account', 'change', 'channel', 'received', TOPIC.channelCommands, ''], cells),
    './ravand admin addresses --account ID --user-id U shows what a person has now',
  ];
}

/** The --json form; its field names are a contract with scripts. */
export function commandsJson({ commands }: Pick<FoundCommands, 'commands'>): object[] {
  return commands.map(({ accountId, receivedAt, isApplied, ...rest }) => ({
    ...{ account_id: accountId, ...rest },
    ...{ received_at: new Date(receivedAt).toISOString(), applied: isApplied },
  }));
}
