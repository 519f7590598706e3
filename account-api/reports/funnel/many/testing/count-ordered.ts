import type { OrderedRules } from '../../../many-events/many-events.ts';
import { GAP_SHIFT } from '../../event-arrays.ts';

/** What many-events/wasm/ordered.as.ts counts, from the keys of each person. */
export function countOrdered(
  people: Iterable<number[]>,
  { steps, windowMs }: OrderedRules,
): { counts: number[][]; lists: number[][] } {
  const byDepth = new Array<number>(steps + 1).fill(0);
  const gaps = Array.from({ length: steps - 1 }, (): number[] => []);
  for (const unordered of people) {
    const keys = unordered.toSorted((a, b) => a - b);
    const { depth, start } = pathOf(keys, windowMs);
    byDepth[depth] = (byDepth[depth] ?? 0) + 1;
    for (const [at, gap] of gapsOf(keys, { depth, start }).entries()) gaps[at]?.push(gap);
  }
  return { counts: [byDepth], lists: gaps };
}

interface Path {
  depth: number;
  start: number;
}

function pathOf(keys: readonly number[], windowMs: number): Path {
  /** By length - 1: latest start of such a path so far. */
  const starts: number[] = [];
  let path: Path = { depth: 0, start: 0 };
  for (const key of keys) {
    const { time, step } = eventOf(key);
    const start = step === 0 ? time : starts[step - 1];
    if (start === undefined) continue;
    starts[step] = start;
    if (step >= path.depth && time - start <= windowMs) path = { depth: step + 1, start };
  }
  return path;
}

function gapsOf(keys: readonly number[], { depth, start }: Path): number[] {
  const times: number[] = [];
  for (const key of keys) {
    const { time, step } = eventOf(key);
    if (times.length < depth && time >= start && step === times.length) times.push(time);
  }
  return times.slice(1).map((time, at) => time - (times[at] ?? 0));
}

function eventOf(key: number): { time: number; step: number } {
  const time = Math.floor(key / 2 ** GAP_SHIFT);
  return { time, step: 31 - Math.clz32(key - time * 2 ** GAP_SHIFT) };
}
