import { isPlatformEvent } from '../../../../events/event-name.ts';
import type { EventRow } from '../../../../schemas/records.ts';
import {
  breakdownText,
  compareEvents,
  compareTexts,
  eventsByPerson,
  matches,
  type Dataset,
} from '../../testing/dataset.ts';
import type { FunnelAnswer, FunnelStepAnswer, FunnelValueAnswer } from '../answer.ts';
import type { FunnelRequest } from '../request.ts';

type Chain = readonly EventRow[];

/**
 * A funnel by the letter of reports.md, "Funnel": it lists every chain of every person, takes the
 * longest, and of those the counted one. Exponential in the events of a person: it is there to be
 * obviously right, and the SQL is held against it.
 */
export function funnelModel(dataset: Dataset, request: FunnelRequest): Omit<FunnelAnswer, 'meta'> {
  const chains: Chain[] = [];
  for (const events of eventsByPerson(dataset, request).values()) {
    const chain = countedChain(allChains(dataset, request, events));
    if (chain) chains.push(chain);
  }
  const steps = stepAnswers(request, chains);
  return request.breakdown
    ? { steps, breakdown: breakdownAnswers(dataset, request, chains) }
    : { steps };
}

function allChains(dataset: Dataset, request: FunnelRequest, events: readonly EventRow[]): Chain[] {
  if (request.order === 'any') return anyChains(dataset, request, events);
  const found: Chain[] = [];
  const extend = (chain: Chain): void => {
    if (chain.length > 0) found.push(chain);
    const step = request.steps[chain.length];
    if (!step) return;
    for (const event of events) {
      if (matches(dataset, step, event) && mayFollow({ dataset, request, events, chain, event }))
        extend([...chain, event]);
    }
  };
  extend([]);
  return found;
}

interface Extension {
  dataset: Dataset;
  request: FunnelRequest;
  events: readonly EventRow[];
  chain: Chain;
  event: EventRow;
}

function mayFollow({ dataset, request, events, chain, event }: Extension): boolean {
  const first = chain[0];
  const last = chain.at(-1);
  if (!first || !last) return isInRange(request, event);
  if (
    chain.includes(event) ||
    event.timestamp < last.timestamp ||
    event.timestamp - first.timestamp > request.windowMs
  )
    return false;
  const step = chain.length;
  const isBroken = request.exclude.some(
    (exclusion) =>
      exclusion.fromStep <= step &&
      step < exclusion.toStep &&
      events.some(
        (x) =>
          last.timestamp < x.timestamp &&
          x.timestamp < event.timestamp &&
          matches(dataset, exclusion, x),
      ),
  );
  return !isBroken && (request.order === 'ordered' || followsDirectly({ events, last, event }));
}

function followsDirectly({
  events,
  last,
  event,
}: {
  events: readonly EventRow[];
  last: EventRow;
  event: EventRow;
}): boolean {
  const sequence = events.filter(
    (one) => ['track', 'page', 'screen'].includes(one.type) && !isPlatformEvent(one.event),
  );
  const at = sequence.indexOf(last);
  return at >= 0 && sequence[at + 1] === event;
}

/**
 * Any order: events in total order, each on a step of its own. A chain is its events; which of
 * several steps each takes does not show.
 */
function anyChains(dataset: Dataset, request: FunnelRequest, events: readonly EventRow[]): Chain[] {
  const found: Chain[] = [];
  const extend = (chain: Chain, taken: ReadonlySet<number>): void => {
    if (chain.length > 0) found.push(chain);
    const first = chain[0];
    const last = chain.at(-1);
    for (const event of events) {
      const isLater = !last || compareEvents(last, event) < 0;
      const isInTime = first
        ? event.timestamp - first.timestamp <= request.windowMs
        : isInRange(request, event);
      if (!isLater || !isInTime) continue;
      for (const [at, step] of request.steps.entries()) {
        if (!taken.has(at) && matches(dataset, step, event))
          extend([...chain, event], new Set([...taken, at]));
      }
    }
  };
  extend([], new Set());
  return found;
}

function isInRange({ range }: FunnelRequest, event: EventRow): boolean {
  return range.from <= event.timestamp && event.timestamp < range.to;
}

/**
 * The longest; among those the one that ends first, then the one that starts last, then the
 * earliest second event, third event, and so on.
 */
function countedChain(chains: readonly Chain[]): Chain | undefined {
  const depth = Math.max(0, ...chains.map((chain) => chain.length));
  return chains.filter((chain) => chain.length === depth).sort(compareChains)[0];
}

function compareChains(a: Chain, b: Chain): number {
  const order = (at: number): number => {
    const [one, other] = [a.at(at), b.at(at)];
    return one && other ? compareEvents(one, other) : 0;
  };
  const byMiddle = a.map((_, at) => order(at)).find((difference) => difference !== 0) ?? 0;
  return order(-1) || -order(0) || byMiddle;
}

function stepAnswers(request: FunnelRequest, chains: readonly Chain[]): FunnelStepAnswer[] {
  const counts = request.steps.map((_, at) => chains.filter((chain) => chain.length > at).length);
  return request.steps.map(({ label }, at) => {
    const waits = chains.flatMap((chain) => {
      const [before, here] = [chain[at - 1], chain[at]];
      return before && here ? [here.timestamp - before.timestamp] : [];
    });
    return {
      event: label,
      count: counts[at] ?? 0,
      conversion_from_previous: at === 0 ? 1 : fraction(counts[at], counts[at - 1]),
      conversion_from_first: at === 0 ? 1 : fraction(counts[at], counts[0]),
      median_seconds_from_previous: percentileSeconds(waits, 5),
      p90_seconds_from_previous: percentileSeconds(waits, 9),
    };
  });
}

function fraction(part = 0, whole = 0): number | null {
  return whole === 0 ? null : part / whole;
}

/**
 * Linear interpolation between closest ranks, rank tenths/10 × (n − 1), from milliseconds; one
 * division at the end, so nothing is rounded twice.
 */
function percentileSeconds(milliseconds: readonly number[], tenths: number): number | null {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  const rank = tenths * (sorted.length - 1);
  const low = sorted[Math.floor(rank / 10)];
  if (low === undefined) return null;
  const high = sorted[Math.ceil(rank / 10)] ?? low;
  return (low * 10 + (high - low) * (rank % 10)) / 10_000;
}

function breakdownAnswers(
  dataset: Dataset,
  request: FunnelRequest,
  chains: readonly Chain[],
): FunnelValueAnswer[] {
  const { breakdown } = request;
  if (!breakdown) return [];
  const groups = new Map<string | null, Chain[]>();
  for (const chain of chains) {
    const event = chain[breakdown.step - 1];
    const value = event ? breakdownText(dataset, breakdown.target, event) : null;
    groups.set(value, [...(groups.get(value) ?? []), chain]);
  }
  const values = [...groups.keys()].filter((value) => value !== null);
  const size = (value: string): number => groups.get(value)?.length ?? 0;
  values.sort((a, b) => size(b) - size(a) || compareTexts(a, b));
  const listed = values.slice(0, breakdown.limit);
  const others = values.slice(breakdown.limit).flatMap((value) => groups.get(value) ?? []);
  const nobody = groups.get(null);
  return [
    ...listed.map((value) => ({ value, steps: stepAnswers(request, groups.get(value) ?? []) })),
    ...(others.length > 0
      ? [{ value: null, other: true as const, steps: stepAnswers(request, others) }]
      : []),
    ...(nobody ? [{ value: null, steps: stepAnswers(request, nobody) }] : []),
  ];
}
