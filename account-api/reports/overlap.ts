import type { EventSelector, Filter, Scalar } from '../../audiences/conditions/condition.ts';

/**
 * False when no event can match both: their names differ, or they require different values of the
 * same property or column.
 */
export function mayShare(one: EventSelector, other: EventSelector): boolean {
  if (one.event !== other.event) return false;
  return !one.filters.some((filter) =>
    other.filters.some((against) => contradict(filter, against)),
  );
}

function contradict(one: Filter, other: Filter): boolean {
  if (
    one.target.kind === 'trait' ||
    one.target.kind !== other.target.kind ||
    one.target.name !== other.target.name
  )
    return false;
  const values = accepted(one);
  const others = accepted(other);
  return (
    values !== undefined && others !== undefined && !values.some((value) => others.includes(value))
  );
}

/**
 * The texts that a filter accepts, when it accepts a list of texts only: a number has a text of its
 * own, so the two kinds are not compared.
 */
function accepted({ test }: Filter): string[] | undefined {
  const scalars: readonly Scalar[] | undefined =
    test.op === 'eq' ? [test.value] : test.op === 'in' ? test.values : undefined;
  const texts = scalars?.flatMap((scalar) => ('text' in scalar ? [scalar.text] : []));
  return texts?.length === scalars?.length ? texts : undefined;
}

/** True when every event that matches `one` matches `other` too. */
export function implies(one: EventSelector, other: EventSelector): boolean {
  const filters = one.filters.map((filter) => JSON.stringify(filter));
  return (
    one.event === other.event &&
    other.filters.every((filter) => filters.includes(JSON.stringify(filter)))
  );
}

function isSame(one: EventSelector, other: EventSelector): boolean {
  return one.event === other.event && JSON.stringify(one.filters) === JSON.stringify(other.filters);
}

/** True when one event may match several of the steps. */
export function stepsOverlap(steps: readonly EventSelector[]): boolean {
  return pairs(steps).some(([one, other]) => mayShare(one, other));
}

/**
 * True when two different steps can match the same event: then it matters which of two simultaneous
 * events is matched to which step.
 */
export function stepsOverlapInPart(steps: readonly EventSelector[]): boolean {
  return pairs(steps).some(([one, other]) => mayShare(one, other) && !isSame(one, other));
}

/**
 * Whether steps of one and the same condition exist, and whether another step lies between them.
 */
export function stepsSharedApart(steps: readonly EventSelector[]): 'none' | 'together' | 'apart' {
  let answer: 'none' | 'together' = 'none';
  for (const [at, step] of steps.entries()) {
    const last = steps.findLastIndex((other) => isSame(step, other));
    if (last === at) continue;
    if (!steps.slice(at, last).every((other) => isSame(step, other))) return 'apart';
    answer = 'together';
  }
  return answer;
}

function pairs<T>(items: readonly T[]): [T, T][] {
  return items.flatMap((one, at) => items.slice(at + 1).map((other): [T, T] => [one, other]));
}
