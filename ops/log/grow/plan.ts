import type { LogLayout } from '../../../platform/log/layout.ts';
import { COMMAND, WRITER_LIVES_FOR, type Writer } from '../../../platform/log/writers.ts';

/** A group that has not processed everything. */
export interface Behind {
  group: string;
  topic: string;
  /** Unprocessed records. */
  records: number;
  /** Processes in the group. */
  members: number;
}

/** What a step of a growth is decided by. */
export interface GrowthView {
  layout: LogLayout;
  target: number;
  /** Partitions in Kafka of the topics that grow; those that others are derived from last. */
  counts: ReadonlyMap<string, number>;
  /** Groups with members that do not read all partitions yet. */
  unassigned: readonly string[];
  writers: readonly (Writer & { age: number })[];
  behind: readonly Behind[];
  /** Partitions of events.raw in which the new epoch begins. */
  marked: ReadonlySet<number>;
}

/**
 * The next step of a growth. Every step may be repeated: a command that was killed is continued by
 * the next one.
 *
 * - begin, create: nothing uses the new partitions.
 * - hold: writers keep new records in their spools, and finish older ones.
 * - switch: from here on the growth can only be completed.
 * - mark: the new epoch begins in these partitions. A record behind the mark that was published by
 *   the former number of partitions is forwarded by the normaliser.
 * - drain: every group processes what lies before the marks.
 * - finish: the new number applies; writers release what they hold.
 */
export type GrowthStep =
  | { step: 'begin' | 'hold' | 'switch' | 'drain' | 'finish' | 'done' }
  | { step: 'create'; topics: readonly string[] }
  | { step: 'mark'; partitions: readonly number[] }
  /** One sentence for each thing that is missing. */
  | { step: 'wait'; for: readonly string[] };

export function nextStep(view: GrowthView): GrowthStep {
  const { layout, target, counts, unassigned, marked } = view;
  switch (layout.phase) {
    case 'steady':
      return { step: layout.partitions === target ? 'done' : 'begin' };
    case 'preparing': {
      const topics = [...counts].filter(([, count]) => count < target).map(([topic]) => topic);
      if (topics.length > 0) return { step: 'create', topics };
      const former = formerWriters(view);
      if (former.length > 0) return wait(former);
      const commands = runningCommands(view);
      if (commands.length > 0) return wait(commands);
      if (unassigned.length > 0)
        return wait(unassigned.map((group) => `${group} to read the new partitions`));
      return { step: 'hold' };
    }
    case 'holding': {
      const missing = [...openWriters(view), ...openGroups(view)];
      return missing.length > 0 ? wait(missing) : { step: 'switch' };
    }
    case 'switching': {
      const partitions = Array.from({ length: target }, (_, at) => at).filter(
        (partition) => !marked.has(partition),
      );
      return partitions.length > 0 ? { step: 'mark', partitions } : { step: 'drain' };
    }
    case 'draining': {
      const missing = openGroups(view);
      return missing.length > 0 ? wait(missing) : { step: 'finish' };
    }
  }
}

/** True until the first mark is written: a growth can be cancelled. */
export function isCancellable({ phase }: Pick<LogLayout, 'phase'>): boolean {
  return phase === 'preparing' || phase === 'holding';
}

function wait(missing: readonly string[]): GrowthStep {
  return { step: 'wait', for: missing };
}

/**
 * A process that was not seen for some seconds is dead or suspended. What it publishes late is
 * forwarded, and it holds its new records until that has happened.
 */
export function openWriters({ writers }: Pick<GrowthView, 'writers'>): string[] {
  return writers
    .filter(({ phase, age }) => phase !== 'held' && age < WRITER_LIVES_FOR)
    .map(
      ({ service, instance, phase, waitsFor }) =>
        `${service} ${instance} to hold its records (it is ${phase}${waitsFor === '' ? '' : `: ${waitsFor}`})`,
    );
}

/**
 * A process that was suspended during the growth before this one, and not seen since: its late
 * records must be forwarded by that one, or two ways through the log would change their order.
 */
function formerWriters({ writers, layout }: GrowthView): string[] {
  return writers
    .filter(({ generation }) => generation > 0 && generation < layout.generation)
    .map(
      ({ service, instance, age }) =>
        `${service} ${instance} to follow the growth before (it was seen ${Math.round(age / 1000)} s ago; if it does not come back, --forget goes on without it)`,
    );
}

/** Commands that publish: none begins while the layout changes. */
export function runningCommands({ writers }: Pick<GrowthView, 'writers'>): string[] {
  return writers
    .filter(({ service, age }) => service.startsWith(COMMAND) && age < WRITER_LIVES_FOR)
    .map(({ service }) => `${service} to end`);
}

export function openGroups({ behind }: Pick<GrowthView, 'behind'>): string[] {
  return behind.map(({ group, topic, records, members }) =>
    members === 0
      ? `${group} to process ${records} records of ${topic}: no process of it runs`
      : `${group} to process ${records} records of ${topic}`,
  );
}
