import { paint } from '../terminal.ts';

/** A cohort as POST /v1/reports/retention answers it. */
export interface Cohort {
  /** First day, in the requested calendar. */
  start: string;
  size: number;
  returned: number[];
  /** Index of the first period that is not over. */
  incomplete_from?: number;
}

type Period = 'day' | 'week';

const MAX_PERIODS = 9;
const DAYS: Record<Period, number> = { day: 1, week: 7 };
const CELL = 7;
/** From how much of a cohort on a cell is filled so far; the last one fits always. */
const SHADES: readonly [number, string][] = [
  [0.5, '█'],
  [0.25, '▓'],
  [0.1, '▒'],
  [0, '░'],
];

/** Periods that fit the width of a terminal for traffic of so many days. */
export function triangleOf(days: number): { period: Period; periods: number } {
  const period: Period = days <= MAX_PERIODS ? 'day' : 'week';
  return { period, periods: Math.min(MAX_PERIODS, Math.ceil(days / DAYS[period]) + 1) };
}

/**
 * A retention triangle: one line a cohort that has people, one cell a period, the newest cohorts
 * last. What is not over yet ends with an ellipsis.
 */
export function retentionPicture(cohorts: readonly Cohort[], period: Period): string[] {
  const shown = cohorts.filter(({ size }) => size > 0);
  if (shown.length === 0) return ['nobody'];
  const columns = Math.max(...shown.map(({ returned }) => returned.length));
  const heads = Array.from({ length: columns }, (_, at) => `${period} ${at}`.padStart(CELL));
  const head = `${'first seen'.padEnd(10)} ${'people'.padStart(7)} ${heads.join(' ')}`;
  return [paint('dim', head.trimEnd()), ...shown.slice(-3 * MAX_PERIODS).map(line)];
}

function line({ start, size, returned, incomplete_from: open = Infinity }: Cohort): string {
  const cells = returned.map((people, at) => cell(people / size, at >= open));
  return `${start.padEnd(10)} ${size.toLocaleString('en').padStart(7)} ${cells.join(' ')}`;
}

function cell(share: number, isOpen: boolean): string {
  const [, shade = '░'] = SHADES.find(([from]) => share >= from) ?? [];
  const text = `${(share * 100).toFixed(0).padStart(3)}%${isOpen ? '…' : ' '}`;
  return paint(isOpen ? 'dim' : 'cyan', `${shade} ${text}`);
}
