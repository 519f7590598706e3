import { paint } from '../terminal.ts';

export interface FunnelStep {
  event: string;
  count: number;
  conversion_from_previous: number | null;
  conversion_from_first: number | null;
  median_seconds_from_previous: number | null;
}

const WIDTH = 44;

/** A funnel as bars: one line a step, as wide as the share of the first step that got there. */
export function funnelPicture(steps: readonly FunnelStep[]): string[] {
  const names = Math.max(...steps.map((step) => step.event.length));
  return steps.map((step, at) => {
    const share = step.conversion_from_first ?? 0;
    const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
    const count = step.count.toLocaleString('en').padStart(7);
    const previous =
      at === 0
        ? ''
        : `  ${percent(step.conversion_from_previous)} of the step before, median ${duration(step.median_seconds_from_previous)}`;
    return `${step.event.padEnd(names)}  ${paint('cyan', bar)} ${count} ${percent(step.conversion_from_first)}${previous}`;
  });
}

function percent(share: number | null): string {
  return share === null ? '     –' : `${(share * 100).toFixed(1).padStart(5)}%`;
}

function duration(seconds: number | null): string {
  if (seconds === null) return '–';
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h`
    : `${Math.round(seconds / 86_400)} days`;
}
