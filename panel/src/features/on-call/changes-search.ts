const DAYS = [1, 7, 30, 90] as const;

export interface ChangesSearch {
  /** How far back. */
  days: (typeof DAYS)[number];
}

export const CHANGES_DAYS: readonly ChangesSearch['days'][] = DAYS;

export function readChangesSearch({ days }: Record<string, unknown>): ChangesSearch {
  return { days: DAYS.find((one) => one === Number(days)) ?? 1 };
}
