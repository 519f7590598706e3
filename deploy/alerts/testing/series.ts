export type Labels = Readonly<Record<string, string>>;

/** A series as Prometheus scrapes it. */
export interface Series {
  metric: string;
  labels: Labels;
  /** Its value at a time, s; undefined: it is not exposed. */
  at: (time: number) => number | undefined;
}

/** A gauge with one value, or one that depends on the time, s. */
export function gauge(metric: string, labels: Labels, value: number | Series['at']): Series {
  return { metric, labels, at: typeof value === 'number' ? () => value : value };
}

/** A counter that grows by so many per second, each rate from a time on, s. */
export function counter(
  metric: string,
  labels: Labels,
  ...rates: (readonly [from: number, perSecond: number])[]
): Series {
  const at = (time: number) =>
    rates.reduce((sum, [from, rate], index) => {
      const until = Math.min(time, rates[index + 1]?.[0] ?? Infinity);
      return sum + Math.max(0, until - from) * rate;
    }, 0);
  return { metric, labels, at };
}

/** The samples of a series in promtool's notation: `start+growthxrepetitions`, `_xabsences`. */
export function valuesOf(
  { at }: Pick<Series, 'at'>,
  { until, step }: { until: number; step: number },
): string {
  const samples = Array.from({ length: Math.floor(until / step) + 1 }, (_, n) => at(n * step));
  const parts: string[] = [];
  for (let from = 0; from < samples.length;) {
    const first = samples[from];
    const growth = (samples[from + 1] ?? first ?? 0) - (first ?? 0);
    let repeats = 0;
    const isNext = (sample: number | undefined) =>
      first === undefined || sample === undefined
        ? first === sample
        : Math.abs(sample - (first + growth * (repeats + 1))) < 1e-6;
    while (from + repeats + 1 < samples.length && isNext(samples[from + repeats + 1])) repeats++;
    if (first === undefined) parts.push(`_x${repeats + 1}`);
    else
      parts.push(`${plain(first)}${growth < 0 ? '-' : '+'}${plain(Math.abs(growth))}x${repeats}`);
    from += repeats + 1;
  }
  return parts.join(' ');
}

/** Without an exponent, which the notation does not know. */
function plain(value: number): string {
  return Number(value.toFixed(9)).toLocaleString('en', {
    ...{ useGrouping: false, maximumFractionDigits: 9 },
  });
}
