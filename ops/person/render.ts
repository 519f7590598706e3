import { countText, timeText } from '../../cli/format.ts';
import { table } from '../../cli/terminal.ts';
import type { Decision } from '../../projections/identities/decisions.ts';
import type { Moved } from './effect.ts';
import {
  orderKey,
  type Merge,
  type MergeEvent,
  type Person,
  type ProfileSummary,
} from './read-person.ts';

export interface FoundPerson {
  accountId: number;
  person: Person;
  apps: ReadonlyMap<number, string>;
  /** By orderKey. */
  events: ReadonlyMap<string, MergeEvent>;
  /** By distinct id. */
  profiles: ReadonlyMap<string, ProfileSummary>;
  /** Why events and profiles are missing; undefined: they are known. */
  unavailable: string | undefined;
}

/** The profiles of all ids of a person together; undefined when none has events. */
export function totalOf(profiles: Iterable<ProfileSummary>): ProfileSummary | undefined {
  const all = [...profiles];
  if (all.length === 0) return undefined;
  return {
    events: sum(all.map(({ events }) => events)),
    orders: sum(all.map(({ orders }) => orders)),
    revenue: sum(all.map(({ revenue }) => revenue)),
    first_seen: Math.min(...all.map((one) => one.first_seen)),
    last_seen: Math.max(...all.map((one) => one.last_seen)),
  };
}

export function personLines(found: FoundPerson): string[] {
  const { accountId, person, profiles, unavailable } = found;
  const { canonicalId, ids, isCut, decisions } = person;
  const many = `${isCut ? 'more than ' : ''}${ids.length} distinct id${ids.length === 1 ? '' : 's'}`;
  const total = totalOf(profiles.values());
  const merged = ids.find(({ merge }) => merge);
  return [
    `${canonicalId} of account ${accountId}: ${many}; ${unavailable ?? (total ? profileText(total) : 'no profile')}`,
    '',
    ...table(
      ['distinct id', 'events', 'merged into', 'received', 'sent by', 'message id', 'events.raw'],
      ids.map(({ distinctId, merge }) => [
        ...[distinctId, eventsText(found, distinctId)],
        ...(merge ? mergeCells(found, merge) : ['-', '', '', '', '']),
      ]),
    ),
    '',
    ...(decisions.length === 0
      ? ['no operator decided about these ids']
      : decisions.map(decisionText)),
    ...(merged?.merge
      ? [
          `./ravand person split ${merged.distinctId} --from ${merged.merge.userId} --account ${accountId} --dry-run shows what separating two ids changes`,
        ]
      : []),
  ];
}

function eventsText({ profiles, unavailable }: FoundPerson, distinctId: string): string {
  return unavailable === undefined ? countText(profiles.get(distinctId)?.events ?? 0) : '?';
}

function mergeCells({ events, apps }: FoundPerson, { userId, order }: Merge): string[] {
  const event = events.get(orderKey(order));
  const by = event
    ? [
        `app ${event.app_id}${apps.has(event.app_id) ? ` ${apps.get(event.app_id) ?? ''}` : ''}`,
        ...[event.source, event.library].filter((one) => one !== ''),
      ].join(', ')
    : 'no row';
  const { partition, offset, index } = order;
  return [
    ...[userId, timeText(order.receivedAt), by, event?.message_id ?? '-'],
    `${partition}/${offset}/${index}`,
  ];
}

function profileText({ events, orders, revenue, first_seen, last_seen }: ProfileSummary): string {
  return `${countText(events)} events from ${timeText(first_seen)} to ${timeText(last_seen)}, ${countText(orders)} orders, revenue ${countText(revenue)}`;
}

export function decisionText(decision: Decision): string {
  const at = decision.decidedAt > 0 ? timeText(decision.decidedAt) : 'by an earlier release';
  switch (decision.kind) {
    case 'undo':
      return `${at}: undo of the aliases of ${decision.previousId} received until ${timeText(decision.until)}`;
    case 'keep_apart':
      return `${at}: ${decision.previousId} and ${decision.userId} are kept apart; ./ravand person rejoin reverses it`;
    case 'rejoin':
      return `${at}: aliases of ${decision.previousId} and ${decision.userId} count again`;
  }
}

/** What a decision changes, for people. */
export function movedLines(moved: readonly Moved[]): string[] {
  if (moved.length === 0) return ['no distinct id changes its person'];
  return table(
    ['distinct id', 'person now', 'person then'],
    moved.map(({ distinctId, from, to }) => [distinctId, from, to]),
  );
}

/** The --json form; its field names are a contract with scripts. */
export function personJson(found: FoundPerson): object {
  const { accountId, person, apps, events, profiles, unavailable } = found;
  return {
    account_id: accountId,
    canonical_id: person.canonicalId,
    more: person.isCut,
    unavailable: unavailable ?? null,
    profile: profileJson(totalOf(profiles.values())),
    ids: person.ids.map(({ distinctId, merge }) => {
      const event = merge && events.get(orderKey(merge.order));
      return {
        distinct_id: distinctId,
        profile: profileJson(profiles.get(distinctId)),
        merged_into: merge?.userId ?? null,
        merged_at: merge ? new Date(merge.order.receivedAt).toISOString() : null,
        position: merge ? orderKey(merge.order) : null,
        event: event ? { ...event, app: apps.get(event.app_id) ?? null } : null,
      };
    }),
    decisions: person.decisions.map(decisionJson),
  };
}

export function decisionJson(decision: Decision): object {
  const { kind, previousId, decidedAt } = decision;
  const other =
    decision.kind === 'undo'
      ? { until: new Date(decision.until).toISOString() }
      : { other_id: decision.userId };
  return { kind, distinct_id: previousId, ...other, at: new Date(decidedAt).toISOString() };
}

function profileJson(profile: ProfileSummary | undefined): object | null {
  if (!profile) return null;
  const { first_seen: first, last_seen: last } = profile;
  return {
    ...profile,
    first_seen: new Date(first).toISOString(),
    last_seen: new Date(last).toISOString(),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
