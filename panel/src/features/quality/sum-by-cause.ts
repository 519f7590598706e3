/** The answer of GET /v1/ingest/quality. */
export interface QualityAnswer {
  days: number;
  from: string;
  to: string;
  totals: { rejected: number; warned: number };
  rows: QualityRow[];
}

interface QualityRow {
  day: string;
  kind: 'reject' | 'warn';
  code: string;
  field?: string;
  sdk: string;
  app_id: number;
  count: number;
  label: string;
}

export interface Cause {
  key: string;
  kind: 'reject' | 'warn';
  code: string;
  label: string;
  field: string;
  sdk: string;
  app: string;
  count: number;
}

/** The rows of all days together, most frequent first. */
export function sumByCause(rows: readonly QualityRow[]): Cause[] {
  const groups = Map.groupBy(rows, ({ kind, code, field = '', sdk, app_id }) =>
    JSON.stringify([kind, code, field, sdk, app_id]),
  );
  return [...groups]
    .flatMap(([key, [first, ...others]]): Cause[] => {
      if (!first) return [];
      const { kind, code, label, field = '', sdk, app_id } = first;
      const count = others.reduce((sum, one) => sum + one.count, first.count);
      return [
        { key, kind, code, label, field, sdk, app: app_id === 0 ? '' : String(app_id), count },
      ];
    })
    .toSorted((a, b) => b.count - a.count);
}
