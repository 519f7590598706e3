import { endOfTime, setBroken, stepsOf, type FunnelEvents, type Span } from './funnel-events.ts';
import { reachOf } from './simultaneous.ts';
import { StepMatching } from './step-matching.ts';

/** Where the counted path of a person ends. */
export interface PathEnd {
  /** Its events. */
  depth: number;
  /** The events of the time at which it ends. */
  last: Span;
  /**
   * Bit j: a path of j events that ends before that time, and starts early enough, can be
   * continued; bit 0: the path can begin at that time.
   */
  continued: number;
}

/** A time on the way to the end of the path. */
interface Stop extends Span {
  /** Bit i: step i (0-based) can be the first of the path's steps at this time. */
  enter: number;
  /** Bit i: what follows step i - 1 can lie at later times; of the end's time: all that follows. */
  leave: number;
}

interface Search extends Span {
  end: PathEnd;
  count: number;
}

/**
 * The counted path among those of the greatest length: the one that ends first, then the one that
 * starts last, then with the earliest second event, and so on. Each event in turn is the best one
 * with which the rest can still be matched.
 */
export function choosePath(events: FunnelEvents, search: Search): number[] {
  const { depth } = search.end;
  const final = chooseEnd(events, search);
  if (depth === 1) return [final];
  const stops = stopsBefore(events, { ...search, final });
  const path: number[] = [];
  let at = stops.length - 1;
  let choice = choiceAt(at);
  while (path.length < depth - 1) {
    const step = path.length;
    const event = choice.take(step, step === 0 ? 'last' : 'first');
    if (event !== undefined) path.push(event);
    else {
      do at--;
      while (at > 0 && !(((stops[at]?.enter ?? 0) >> step) & 1));
      choice = choiceAt(at);
    }
  }
  return [...path, final];

  function choiceAt(index: number): Choice {
    const stop = stops[index];
    if (!stop) throw new Error('a path that was found cannot be continued');
    return new Choice(events, { stop, isEnd: index === 0, depth, final });
  }
}

/** The first event of its time that can be the last of the path. */
function chooseEnd(events: FunnelEvents, { end: { depth, last, continued } }: Search): number {
  const matching = new StepMatching(events, last);
  const failed = new Set<number>();
  for (let at = last.from; at < last.to; at++) {
    const mask = stepsOf(events.bits[at] ?? 0);
    if (!((mask >> (depth - 1)) & 1) || failed.has(mask)) continue;
    matching.remove(mask);
    for (let before = 0; before < depth; before++)
      if ((continued >> before) & 1 && matching.reach(before, depth - 1) === depth - 1) return at;
    matching.add(mask);
    failed.add(mask);
  }
  throw new Error('a path that was found has no end');
}

/**
 * The times from the end of the path back to the latest start, the end first. For each step the
 * next time after it is kept from which the rest leads to the end: when the gap to that one is
 * broken, so is the gap to every later one.
 */
function stopsBefore(
  events: FunnelEvents,
  { from, end: { depth, last }, final, count }: Search & { final: number },
): Stop[] {
  const { times } = events;
  const matching = new StepMatching(events, last);
  matching.remove(stepsOf(events.bits[final] ?? 0));
  let enter = 0;
  for (let step = depth - 1; step >= 0; step--)
    if (matching.reach(step, depth - 1) === depth - 1) enter |= 1 << step;
  const stops: Stop[] = [{ ...last, enter, leave: 1 << depth }];
  const next = new NextTimes(depth);
  next.set(enter, times[last.from] ?? 0);
  next.exclude(events, last);
  for (let to = last.from; !((stops.at(-1)?.enter ?? 1) & 1) && to > from;) {
    const span = timeBefore(events, { from, to });
    const leave = next.reachable();
    const entered = entrances(reachOf(events, span, count), leave, depth);
    if (entered !== 0) {
      stops.push({ ...span, enter: entered, leave });
      next.set(entered, times[span.from] ?? 0);
    }
    next.exclude(events, span);
    to = span.from;
  }
  return stops;
}

/** The steps from which simultaneous events lead to a step that can be left. */
function entrances(reach: (step: number) => number, leave: number, depth: number): number {
  let [enter, nearest] = [0, 0];
  for (let step = depth - 1; step >= 0; step--) {
    if ((leave >> (step + 1)) & 1) nearest = step + 1;
    if (nearest > step && reach(step) >= nearest) enter |= 1 << step;
  }
  return enter;
}

/** The simultaneous events right before a position. */
function timeBefore(events: FunnelEvents, { from, to }: Span): Span {
  let start = to - 1;
  while (start > from && events.times[start - 1] === events.times[to - 1]) start--;
  return { from: start, to: endOfTime(events, { from: start, to }) };
}

/** By step, the next time at which it can be the first of its time, on the way to the end. */
class NextTimes {
  readonly #depth: number;
  readonly #times: number[];
  /** By gap (0-based): the next time that breaks it. */
  readonly #broken: number[];

  constructor(depth: number) {
    this.#depth = depth;
    this.#times = new Array<number>(depth).fill(0);
    this.#broken = new Array<number>(depth).fill(Infinity);
  }

  set(enter: number, time: number): void {
    for (let step = 0; step < this.#depth; step++)
      if ((enter >> step) & 1) this.#times[step] = time;
  }

  exclude(events: FunnelEvents, span: Span): void {
    setBroken(this.#broken, events, span);
  }

  /** Bit i: step i can follow at a later time. */
  reachable(): number {
    let bits = 0;
    for (let step = 1; step < this.#depth; step++) {
      const time = this.#times[step] ?? 0;
      if (time > 0 && (this.#broken[step - 1] ?? 0) >= time) bits |= 1 << step;
    }
    return bits;
  }
}

/** The events of one time from which the path takes some, one after the other. */
class Choice {
  readonly #events: FunnelEvents;
  readonly #stop: Stop;
  /** What the path takes at the end's time besides its last event ends before that. */
  readonly #until: number;
  readonly #isEnd: boolean;
  readonly #used = new Set<number>();
  readonly #matching: StepMatching;

  constructor(
    events: FunnelEvents,
    { stop, isEnd, depth, final }: { stop: Stop; isEnd: boolean; depth: number; final: number },
  ) {
    this.#events = events;
    this.#stop = stop;
    this.#isEnd = isEnd;
    this.#until = isEnd ? depth - 1 : depth;
    this.#matching = new StepMatching(events, stop);
    if (isEnd) this.#use(final);
  }

  /** The first or last event for this step with which the path can be continued. */
  take(step: number, which: 'first' | 'last'): number | undefined {
    const { from, to } = this.#stop;
    const failed = new Set<number>();
    for (let index = from; index < to; index++) {
      const at = which === 'first' ? index : from + to - 1 - index;
      const mask = stepsOf(this.#events.bits[at] ?? 0);
      if (!((mask >> step) & 1) || failed.has(mask) || this.#used.has(at)) continue;
      this.#use(at);
      if (this.#canFollow(step + 1)) return at;
      this.#matching.add(mask);
      this.#used.delete(at);
      failed.add(mask);
    }
    return undefined;
  }

  #use(at: number): void {
    this.#used.add(at);
    this.#matching.remove(stepsOf(this.#events.bits[at] ?? 0));
  }

  /** Whether the steps from this one on can be matched here until the path leaves this time. */
  #canFollow(step: number): boolean {
    const end = this.#matching.reach(step, this.#until);
    if (this.#isEnd) return end === this.#until;
    for (let left = step; left <= end; left++) if ((this.#stop.leave >> left) & 1) return true;
    return false;
  }
}
