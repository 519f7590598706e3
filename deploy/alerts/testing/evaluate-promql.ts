import type { Expression, Matching, Selector } from './parse-promql.ts';

export type Labels = Readonly<Record<string, string>>;

/** A series as Prometheus scrapes it. */
export interface Series {
  metric: string;
  labels: Labels;
  /** Its value at a time, s; undefined: it is not exposed. */
  at: (time: number) => number | undefined;
}

export interface Element {
  labels: Labels;
  value: number;
}

/** s */
const SCRAPE_INTERVAL = 15;
/** A series whose last sample is older is gone, s. */
const LOOKBACK = 300;

type Value = number | Element[];

interface Sample {
  time: number;
  value: number;
}

/** Evaluates what the rules use of PromQL, as Prometheus does: vectors have no metric name. */
export class Evaluator {
  readonly #series: readonly Series[];
  readonly #records: ReadonlyMap<string, Expression>;

  /** @param records recording rules by name; they are evaluated when they are read */
  constructor(series: readonly Series[], records: ReadonlyMap<string, Expression> = new Map()) {
    this.#series = series;
    this.#records = records;
  }

  vector(expression: Expression, time: number): Element[] {
    const value = this.#value(expression, time);
    return typeof value === 'number' ? [{ labels: {}, value }] : value;
  }

  #value(expression: Expression, time: number): Value {
    switch (expression.kind) {
      case 'number':
        return expression.value;
      case 'selector':
        return this.#instant(expression.selector, time);
      case 'aggregate': {
        const { name, by, of } = expression;
        const groups = Map.groupBy(this.vector(of, time), ({ labels }) => keyOf(labels, by));
        return [...groups.values()].map((elements) => ({
          labels: Object.fromEntries(
            by.flatMap((label) => {
              const value = elements[0]?.labels[label];
              return value === undefined ? [] : [[label, value]];
            }),
          ),
          value: aggregate(
            name,
            elements.map(({ value }) => value),
          ),
        }));
      }
      case 'call':
        return this.#call(expression, time);
      case 'binary': {
        const { operator, left, right, matching } = expression;
        return combine(operator, {
          ...{ left: this.#value(left, time), right: this.#value(right, time), matching },
        });
      }
    }
  }

  #call({ name, args }: Extract<Expression, { kind: 'call' }>, time: number): Value {
    if (name === 'time') return time;
    const [arg] = args;
    if (arg?.kind !== 'selector' || arg.selector.range === 0)
      throw new Error(`${name} needs a range`);
    const { selector } = arg;
    const until = time - selector.offset;
    return this.#matching(selector).flatMap(({ labels, at }) => {
      const samples = samplesOf(at, until - selector.range, until);
      const value = overRange(name, samples, { from: until - selector.range, until });
      return value === undefined ? [] : [{ labels, value }];
    });
  }

  #instant(selector: Selector, time: number): Element[] {
    const record = this.#records.get(selector.metric);
    if (record) return this.vector(record, time - selector.offset);
    const until = time - selector.offset;
    return this.#matching(selector).flatMap(({ labels, at }) => {
      const last = samplesOf(at, until - LOOKBACK, until).at(-1);
      return last ? [{ labels, value: last.value }] : [];
    });
  }

  #matching({ metric, matchers }: Selector): Series[] {
    return this.#series.filter(
      (series) =>
        series.metric === metric &&
        matchers.every(({ label, operator, value }) => {
          const own = series.labels[label] ?? '';
          const isEqual = operator.endsWith('~')
            ? new RegExp(`^(?:${value})$`).test(own)
            : own === value;
          return isEqual !== operator.startsWith('!');
        }),
    );
  }
}

function samplesOf(at: Series['at'], from: number, until: number): Sample[] {
  const samples: Sample[] = [];
  const first = Math.floor(from / SCRAPE_INTERVAL + 1) * SCRAPE_INTERVAL;
  for (let time = first; time <= until; time += SCRAPE_INTERVAL) {
    const value = at(time);
    if (value !== undefined) samples.push({ time, value });
  }
  return samples;
}

function overRange(
  name: string,
  samples: readonly Sample[],
  { from, until }: { from: number; until: number },
): number | undefined {
  const [first] = samples;
  const last = samples.at(-1);
  if (!first || !last) return undefined;
  const pairs = samples.slice(1).map((sample, index) => [samples[index]?.value ?? 0, sample.value]);
  switch (name) {
    case 'min_over_time':
      return Math.min(...samples.map(({ value }) => value));
    case 'changes':
      return pairs.filter(([before, after]) => before !== after).length;
    case 'rate':
    case 'increase':
    case 'delta': {
      if (samples.length < 2) return undefined;
      const isCounter = name !== 'delta';
      // A counter that falls has begun again from 0.
      const resets = pairs.map(([before = 0, after = 0]) =>
        isCounter && after < before ? before : 0,
      );
      const change = last.value - first.value + resets.reduce((sum, one) => sum + one, 0);
      const sampled = last.time - first.time;
      const between = sampled / (samples.length - 1);
      // Prometheus extrapolates to the ends of the range: by half an interval to a far one.
      let toStart = first.time - from;
      if (isCounter && change > 0 && first.value >= 0)
        toStart = Math.min(toStart, sampled * (first.value / change));
      const toEnd = until - last.time;
      const extend = (gap: number) => (gap < between * 1.1 ? gap : between / 2);
      const increase = change * ((sampled + extend(toStart) + extend(toEnd)) / sampled);
      return name === 'rate' ? increase / (until - from) : increase;
    }
    default:
      throw new Error(`${name} is not known`);
  }
}

function aggregate(name: string, values: readonly number[]): number {
  if (name === 'sum') return values.reduce((sum, value) => sum + value, 0);
  return name === 'min' ? Math.min(...values) : Math.max(...values);
}

function combine(
  operator: string,
  { left, right, matching }: { left: Value; right: Value; matching: Matching },
): Value {
  if (typeof left === 'number' && typeof right === 'number')
    return apply(operator, left, right) ?? 0;
  if (typeof right === 'number')
    return (left as Element[]).flatMap(({ labels, value }) =>
      result(operator, labels, [value, right]),
    );
  if (typeof left === 'number')
    return right.flatMap(({ labels, value }) => result(operator, labels, [left, value], value));
  const { on, isManyToOne } = matching;
  const others = Map.groupBy(right, ({ labels }) => keyOf(labels, on));
  const isThere = ({ labels }: Element) => others.has(keyOf(labels, on));
  if (operator === 'and') return left.filter(isThere);
  if (operator === 'unless') return left.filter((element) => !isThere(element));
  if (operator === 'or') {
    const own = new Set(left.map(({ labels }) => keyOf(labels, on)));
    return [...left, ...right.filter(({ labels }) => !own.has(keyOf(labels, on)))];
  }
  if (!isManyToOne) {
    const sides = Map.groupBy(left, ({ labels }) => keyOf(labels, on));
    if ([...sides.values()].some((some) => some.length > 1))
      throw new Error('many elements match one: group_left is missing');
  }
  return left.flatMap(({ labels, value }) => {
    const matches = others.get(keyOf(labels, on)) ?? [];
    if (matches.length > 1) throw new Error('an element matches many');
    return matches.flatMap((match) => result(operator, labels, [value, match.value]));
  });
}

/** A comparison keeps the value of its vector, and drops the element when it is false. */
function result(
  operator: string,
  labels: Labels,
  [left, right]: readonly [number, number],
  kept = left,
): Element[] {
  const value = apply(operator, left, right);
  if (value === undefined) return compare(operator, left, right) ? [{ labels, value: kept }] : [];
  return [{ labels, value }];
}

function apply(operator: string, left: number, right: number): number | undefined {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    default:
      return undefined;
  }
}

function compare(operator: string, left: number, right: number): boolean {
  switch (operator) {
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case '>':
      return left > right;
    case '<':
      return left < right;
    case '>=':
      return left >= right;
    case '<=':
      return left <= right;
    default:
      throw new Error(`${operator} is not known`);
  }
}

function keyOf(labels: Labels, of: readonly string[] | undefined): string {
  const names = of ?? Object.keys(labels);
  return JSON.stringify([...names].sort().map((name) => [name, labels[name] ?? '']));
}
