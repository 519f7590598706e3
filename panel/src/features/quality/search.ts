export const SPANS = [1, 7, 30, 90] as const;

export interface QualitySearch {
  days: (typeof SPANS)[number];
}

export function readQualitySearch({ days }: Record<string, unknown>): QualitySearch {
  return { days: SPANS.find((one) => one === days) ?? 7 };
}
