import { CommandError, UsageError } from '../../cli/command.ts';
import { parseLine } from '../../cli/arguments.ts';
import { TOPIC } from '../../schemas/topology.ts';

const REPLAY_TOPICS = [TOPIC.raw, TOPIC.normalised] as const;
export type ReplayTopic = (typeof REPLAY_TOPICS)[number];

/** A range of offsets of one partition, both included. */
export interface OffsetRange {
  partition: number;
  first: number;
  last: number;
}

/** What is replayed. */
export interface ReplayRequest {
  topic: ReplayTopic;
  /** LogAppendTime, ms since the epoch; `from` included, `to` not. */
  from: number | undefined;
  to: number | undefined;
  offsets: readonly OffsetRange[];
  account: number | undefined;
  /** As stored. */
  event: string | undefined;
  into: string | undefined;
}

export interface ReplayLine {
  /** undefined: cancel the unfinished replay. */
  request: ReplayRequest | undefined;
  into: string | undefined;
  dryRun: boolean;
  /** Maximum events per second. */
  rate: number | undefined;
  json: boolean;
}

const SUFFIX = /^[a-z0-9][a-z0-9_]{0,31}$/;

/** Suffixes that would collide with the projection's own tables are refused. */
export function tableSuffix(text: string): string {
  const isReserved = text.endsWith('_local') || text === 'local' || text.startsWith('former_');
  if (SUFFIX.test(text) && !isReserved) return text;
  throw new CommandError(
    `--into ${text}: expected up to 32 lowercase letters, digits and underscores, not beginning with former_`,
    2,
  );
}

/** Reads the line of `./ravand replay`. Throws CommandError. */
export function parseReplayLine(args: string[]): ReplayLine {
  const text = { type: 'string' } as const;
  const yes = { type: 'boolean' } as const;
  const { values } = parseLine({
    args,
    options: {
      ...{
        topic: text,
        from: text,
        to: text,
        offsets: { type: 'string', multiple: true },
        account: text,
        event: text,
        into: text,
        rate: text,
      },
      ...{ 'dry-run': yes, json: yes, cancel: yes },
    },
  });
  const into = values.into === undefined ? undefined : tableSuffix(values.into);
  const common = {
    into,
    dryRun: values['dry-run'] === true,
    json: values.json === true,
    rate: positive('rate', values.rate),
  };
  if (values.cancel === true) return { ...common, request: undefined };
  if (values.topic === TOPIC.dead)
    throw new CommandError(
      `${TOPIC.dead} is not replayed: ./ravand dlq lists the dead letters by cause, and ./ravand dlq redrive GROUP brings them back`,
      2,
    );
  const topic = REPLAY_TOPICS.find((one) => one === values.topic);
  if (topic === undefined)
    throw new UsageError(
      `--topic ${values.topic ?? 'is missing'}: one of ${REPLAY_TOPICS.join(', ')}`,
    );
  const offsets = (values.offsets ?? []).map(offsetRange);
  if (offsets.length > 0 && (values.from !== undefined || values.to !== undefined))
    throw new CommandError('--offsets and --from/--to exclude each other: give one of them', 2);
  const twice = offsets.find(
    (one, at) => offsets.findIndex(({ partition }) => partition === one.partition) !== at,
  );
  if (twice)
    throw new CommandError(
      `--offsets names partition ${twice.partition} twice: give one range a partition`,
      2,
    );
  const [from, to] = [instant('from', values.from), instant('to', values.to)];
  if (from !== undefined && to !== undefined && from >= to)
    throw new CommandError('--from is not before --to', 2);
  const request = {
    topic,
    from,
    to,
    offsets,
    account: positive('account', values.account),
    event: values.event,
    into,
  };
  return { ...common, request };
}

function offsetRange(text: string): OffsetRange {
  const [, partition, first, last] = /^(\d+):(\d+)-(\d+)$/.exec(text) ?? [];
  const range = { partition: Number(partition), first: Number(first), last: Number(last) };
  if (partition === undefined || range.first > range.last)
    throw new CommandError(
      `--offsets ${text}: expected PARTITION:FIRST-LAST, for example 2:1000-1999`,
      2,
    );
  return range;
}

/** A time, or a day, which means its start in UTC. */
const INSTANT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

function instant(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(value))
    throw new CommandError(
      `--${option} ${text}: expected a time such as 2026-11-20T08:00:00Z or a day such as 2026-11-20 (UTC)`,
      2,
    );
  return value;
}

function positive(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || !Number.isSafeInteger(value))
    throw new CommandError(`--${option} ${text}: expected a whole number from 1`, 2);
  return value;
}

/** Canonical command line of a request: the same one resumes an unfinished replay. */
export function commandText({
  topic,
  from,
  to,
  offsets,
  account,
  event,
  into,
}: ReplayRequest): string {
  const time = (ms: number) => new Date(ms).toISOString();
  return [
    `replay --topic ${topic}`,
    ...(from === undefined ? [] : [`--from ${time(from)}`]),
    ...(to === undefined ? [] : [`--to ${time(to)}`]),
    ...offsets
      .toSorted((a, b) => a.partition - b.partition)
      .map(({ partition, first, last }) => `--offsets ${partition}:${first}-${last}`),
    ...(account === undefined ? [] : [`--account ${account}`]),
    ...(event === undefined ? [] : [`--event ${JSON.stringify(event)}`]),
    ...(into === undefined ? [] : [`--into ${into}`]),
  ].join(' ');
}
