import { paint } from '../terminal.ts';

/** `stats` of GET /v1/campaigns/{id}. */
export interface CampaignStats {
  planned: number;
  sent: number;
  failed: number;
  withheld: number;
  skipped: number;
  in_flight: number;
  skipped_by_reason: Readonly<Record<string, number>>;
  failed_by_reason: Readonly<Record<string, number>>;
  opened: number;
  clicked: number;
  converted: number;
  uplift: Uplift | null;
}

interface Uplift {
  treated_rate: number;
  control_rate: number;
  difference: number;
  low: number;
  high: number;
  significant: boolean;
}

interface Goal {
  event: string;
  window_hours: number;
}

const COLUMNS = 80;
const NAMES = 10;
const WIDTH = 30;

/**
 * The balance of a campaign, what its recipients did, and its uplift, in 80 columns. Each part of
 * the balance begins where the one before ends: together they are as long as all that was planned.
 */
export function campaignPicture(stats: CampaignStats, goal: Goal): string[] {
  if (stats.planned === 0) return ['nobody was planned'];
  const { sent, uplift } = stats;
  const numbers = stats.planned.toLocaleString('en').length + 2;
  const rows = [...balance(stats), BLANK, ...(sent > 0 ? responses(stats) : [])];
  return [
    ...rows.map((one) => (one === BLANK ? '' : line(one, numbers))),
    ...(sent > 0 ? [''] : []),
    ...(uplift ? upliftLines(uplift, { goal, numbers }) : ['no uplift: nobody was withheld']),
  ];
}

interface Row {
  name: string;
  bar: string;
  /** Undefined: only the share is shown. */
  count: number | undefined;
  share: number;
  /** Reasons with their counts. */
  notes: readonly string[];
}

const BLANK: Row = { name: '', bar: '', count: undefined, share: 0, notes: [] };

function line({ name, bar, count, share, notes }: Row, numbers: number): string {
  const number = (count?.toLocaleString('en') ?? '').padStart(numbers);
  const percentage = ` ${percent(share)}  `;
  const note = fitting(notes, COLUMNS - NAMES - WIDTH - numbers - percentage.length);
  return `${name.padEnd(NAMES)}${bar}${number}${percentage}${note}`.trimEnd();
}

/** As many as fit. */
function fitting(notes: readonly string[], width: number): string {
  for (let count = notes.length; count > 0; count--) {
    const text = notes.slice(0, count).join(', ') + (count < notes.length ? ', …' : '');
    if (text.length <= width) return text;
  }
  return (notes[0] ?? '').slice(0, Math.max(0, width));
}

function balance(stats: CampaignStats): Row[] {
  const { planned, in_flight: open } = stats;
  const parts: [name: string, count: number, notes: string[]][] = [
    ['sent', stats.sent, []],
    ['failed', stats.failed, reasons(stats.failed_by_reason)],
    ['withheld', stats.withheld, ['control group']],
    ['skipped', stats.skipped, reasons(stats.skipped_by_reason)],
  ];
  if (open > 0) parts.push(['in flight', open, []]);
  let before = 0;
  const rows = parts.map(([name, count, notes]): Row => {
    const cellOf = (at: number) => Math.round((at / planned) * WIDTH);
    const bar = piece({ from: cellOf(before), to: cellOf(before + count), count });
    before += count;
    return { name, bar, count, share: count / planned, notes };
  });
  return [{ name: 'planned', bar: filled(1), count: planned, share: 1, notes: [] }, ...rows];
}

/** A part of the bar; one that is too short for a block is marked. */
function piece({ from, to, count }: { from: number; to: number; count: number }): string {
  const length = count > 0 ? Math.max(1, to - from) : 0;
  const at = Math.min(from, WIDTH - length);
  const mark = to > from ? '█' : '▏';
  const rest = '·'.repeat(WIDTH - at - length);
  return paint('dim', '·'.repeat(at)) + paint('cyan', mark.repeat(length)) + paint('dim', rest);
}

function filled(share: number): string {
  const length = Math.round(Math.min(1, share) * WIDTH);
  return paint('cyan', '█'.repeat(length)) + paint('dim', '░'.repeat(WIDTH - length));
}

/** The most frequent ones first. */
function reasons(counts: Readonly<Record<string, number>>): string[] {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${count.toLocaleString('en')}`);
}

function responses({ sent, opened, clicked, converted }: CampaignStats): Row[] {
  const row = (name: string, count: number, notes: string[] = []): Row => ({
    ...{ name, count, notes, bar: filled(count / sent), share: count / sent },
  });
  return [row('opened', opened, ['of sent']), row('clicked', clicked), row('converted', converted)];
}

function upliftLines(uplift: Uplift, { goal, numbers }: { goal: Goal; numbers: number }): string[] {
  const { treated_rate: treated, control_rate: control, low, high, difference } = uplift;
  const most = Math.max(treated, control) || 1;
  const row = (name: string, share: number): Row => ({
    ...{ name, share, bar: filled(share / most), count: undefined, notes: [] },
  });
  const verdict = uplift.significant ? 'significant' : 'not yet clear: 0 is possible';
  return [
    `uplift: ${goal.event} within ${goal.window_hours} h, with the campaign and without it`,
    line(row('treated', treated), numbers),
    line(row('control', control), numbers),
    `${'95 %'.padEnd(NAMES)}${interval(uplift)}`,
    `${' '.repeat(NAMES)}${points(difference)} points, from ${points(low)} to ${points(high)}: ${verdict}`,
  ];
}

/** The difference within its interval, and where 0 is. */
function interval({ low, high, difference }: Pick<Uplift, 'low' | 'high' | 'difference'>): string {
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  const cellOf = (value: number) => Math.round(((value - from) / (to - from || 1)) * (WIDTH - 1));
  const marks = new Map<number, string>();
  for (let cell = cellOf(low); cell <= cellOf(high); cell++) marks.set(cell, '─');
  marks.set(cellOf(low), '├').set(cellOf(high), '┤').set(cellOf(difference), '●');
  const zero = cellOf(0);
  if (marks.get(zero) !== '●') marks.set(zero, marks.has(zero) ? '┼' : '0');
  return Array.from({ length: WIDTH }, (_, cell) => {
    const mark = marks.get(cell);
    return mark === undefined ? paint('dim', '·') : paint('cyan', mark);
  }).join('');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1).padStart(5)}%`;
}

function points(difference: number): string {
  const text = (difference * 100).toFixed(1);
  return difference > 0 ? `+${text}` : text;
}
