import { distinctIdOf, isPlatformEvent } from '../../../../events/event-name.ts';
import type { EventRow, MessageOutcome } from '../../../../schemas/records.ts';
import { MAX_CLICKS, type PeopleRow } from '../compile-people.ts';
import type { StatsRun } from '../runs.ts';

/** The stored data of one account: the input of the model. */
export interface MessageDataset {
  /** In the order of the log: of two outcomes of a message the later one counts. */
  outcomes: readonly MessageOutcome[];
  events: readonly EventRow[];
  /** Opens by a person of messages that a machine had opened first. */
  lateOpens: readonly { message_id: string; at: number }[];
  /** Aliased distinct ids and their person (reports: People). */
  canonical: ReadonlyMap<string, string>;
}

type Goal = NonNullable<StatsRun['goal']>;

/** A message of a run with a goal, for one goal event. */
interface Competitor {
  message: MessageOutcome;
  /** The latest click, or the open, before the goal event. */
  clickedAt: number | undefined;
  openedAt: number | undefined;
}

/**
 * A literal implementation of the attribution of docs/message-stats.md: goal event by goal event,
 * message by message. The SQL is compared with it.
 */
export function peopleModel(
  dataset: MessageDataset,
  { campaignId, runs }: { campaignId: number; runs: readonly StatsRun[] },
): PeopleRow {
  const runOf = new Map(runs.map((run) => [run.id, run]));
  const known = new Map(dataset.outcomes.map((outcome) => [outcome.message_id, outcome]));
  const messages = [...known.values()].filter(({ run_id }) => runOf.has(run_id));
  const personOf = (name: string) => dataset.canonical.get(name) ?? name;
  const own = messages.filter((message) => message.campaign_id === campaignId);
  const sent = messages.filter(({ status }) => status === 'sent');
  const goalOf = ({ run_id }: MessageOutcome) => runOf.get(run_id)?.goal;
  const people = (some: readonly MessageOutcome[]) =>
    new Set(some.map(({ person_id }) => personOf(person_id)));

  const opens = (message: MessageOutcome) => opensOf(dataset, message);
  const clicks = (message: MessageOutcome) => clicksOf(dataset, message);
  const ownSent = own.filter(({ status }) => status === 'sent');

  const converted = new Set<string>();
  let revenue = 0;
  for (const event of dataset.events) {
    if (event.is_bot || (isPlatformEvent(event.event) && event.source !== 'platform')) continue;
    const person = personOf(distinctIdOf(event));
    const competitors = sent.flatMap((message): Competitor[] => {
      const goal = goalOf(message);
      if (goal?.event !== event.event || personOf(message.person_id) !== person) return [];
      if (!isWithin(event.timestamp, message.finished_at, goal)) return [];
      const before = (times: readonly number[]) =>
        times.filter((at) => at <= event.timestamp).toSorted((a, b) => b - a)[0];
      return [
        {
          message,
          clickedAt: before(clicks(message)),
          openedAt: before(opens(message).slice(0, 1)),
        },
      ];
    });
    const winner =
      latest(competitors, ({ clickedAt }) => clickedAt) ??
      latest(competitors, ({ openedAt }) => openedAt) ??
      latest(competitors, ({ message }) => message.finished_at);
    if (winner?.message.campaign_id !== campaignId) continue;
    converted.add(person);
    revenue += event.revenue;
  }

  const compared = own.filter((message) => {
    const run = runOf.get(message.run_id);
    return run?.hasControl === true && run.goal !== undefined;
  });
  const treated = people(compared.filter(({ status }) => status !== 'withheld'));
  const withheld = people(compared.filter(({ status }) => status === 'withheld'));
  const control = [...withheld].filter((person) => !treated.has(person));
  const responded = people(
    compared.filter((message) => {
      const goal = goalOf(message);
      return dataset.events.some(
        (event) =>
          goal?.event === event.event &&
          !event.is_bot &&
          (!isPlatformEvent(event.event) || event.source === 'platform') &&
          personOf(distinctIdOf(event)) === personOf(message.person_id) &&
          isWithin(event.timestamp, message.planned_at, goal),
      );
    }),
  );
  return {
    opened: people(ownSent.filter((message) => opens(message).length > 0)).size,
    clicked: people(ownSent.filter((message) => clicks(message).length > 0)).size,
    ...{ converted: converted.size, revenue },
    treated: treated.size,
    treated_converted: [...treated].filter((person) => responded.has(person)).length,
    control: control.length,
    control_converted: control.filter((person) => responded.has(person)).length,
  };
}

function isWithin(at: number, from: number, { windowMs }: Goal): boolean {
  return from <= at && at <= from + windowMs;
}

/** When people opened it, earliest first. */
function opensOf({ events, lateOpens }: MessageDataset, { message_id }: MessageOutcome): number[] {
  const found = events.filter(
    (event) =>
      event.event === 'message_opened' &&
      event.source === 'platform' &&
      !event.is_bot &&
      event.source_message_id === message_id,
  );
  const late = lateOpens.filter((open) => open.message_id === message_id);
  return [...found.map(({ timestamp }) => timestamp), ...late.map(({ at }) => at)].toSorted(
    (a, b) => a - b,
  );
}

/** The latest ones. */
function clicksOf({ events }: MessageDataset, { message_id }: MessageOutcome): number[] {
  return events
    .filter(
      (event) =>
        event.event === 'message_clicked' &&
        !event.is_bot &&
        event.source_message_id === message_id,
    )
    .map(({ timestamp }) => timestamp)
    .toSorted((a, b) => b - a)
    .slice(0, MAX_CLICKS);
}

/** The one with the latest time; of several, that which was sent last, by the newest run. */
function latest(
  competitors: readonly Competitor[],
  timeOf: (one: Competitor) => number | undefined,
): Competitor | undefined {
  return competitors
    .flatMap((one) => {
      const time = timeOf(one);
      return time === undefined
        ? []
        : [{ one, key: [time, one.message.finished_at, one.message.run_id] }];
    })
    .toSorted((a, b) => compare(b.key, a.key))[0]?.one;
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) {
    const difference = value - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
