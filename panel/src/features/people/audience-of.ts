/**
 * An audience like the people behind a number of a funnel: who did every step up to it, and for
 * those who were lost, not the step itself. The audience language knows no order of events, so it
 * is what a member begins from; undefined: a number of another report.
 */
export function audienceOf(of: Record<string, unknown>): object | undefined {
  const { funnel, step, lost } = of;
  if (typeof funnel !== 'object' || funnel === null || typeof step !== 'number') return undefined;
  const { steps, from, to } = funnel as { steps?: unknown; from?: unknown; to?: unknown };
  if (!Array.isArray(steps) || typeof from !== 'string' || typeof to !== 'string') return undefined;
  const days = Math.max(1, Math.round((Date.now() - Date.parse(from)) / DAY));
  const did = steps
    .slice(0, lost === true ? step - 1 : step)
    .flatMap((one) => conditionOf(one, days));
  const not =
    lost === true ? steps.slice(step - 1, step).flatMap((one) => conditionOf(one, days)) : [];
  return { all: [...did, ...not.map((one) => ({ ...one, did: false }))] };
}

const DAY = 86_400_000;

function conditionOf(step: unknown, days: number): { event: string; did: boolean }[] {
  const { event, filters = [] } = step as { event?: unknown; filters?: object[] };
  if (typeof event !== 'string') return [];
  const where = filters.filter((filter) => 'property' in filter);
  return [
    {
      ...{ event, did: true, within_days: days },
      ...(where.length > 0 ? { where } : {}),
    },
  ];
}
