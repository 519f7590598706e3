import { listedValue, type BucketRow, type ListedValue } from '../breakdown-sql.ts';
import { reportMeta, type Measured, type ReportMeta } from '../meta.ts';
import type { FunnelRequest } from './request.ts';

export interface FunnelStepAnswer {
  event: string;
  count: number;
  /** Fractions 0..1; 1 for the first step, null where they would divide by zero. */
  conversion_from_previous: number | null;
  conversion_from_first: number | null;
  /** Seconds with milliseconds; null for the first step and where the count is 0. */
  median_seconds_from_previous: number | null;
  p90_seconds_from_previous: number | null;
}

export interface FunnelValueAnswer extends ListedValue {
  steps: FunnelStepAnswer[];
}

export interface FunnelAnswer {
  steps: FunnelStepAnswer[];
  breakdown?: FunnelValueAnswer[];
  meta: ReportMeta;
}

/**
 * One row of the compiled statement. Without a breakdown there is one, of kind 'all'. Rows come in
 * the order of the answer.
 */
export interface FunnelRow extends BucketRow {
  /** People by step, as far as anybody got. */
  counts: number[];
  /** For each step but the first, as far as anybody got: median and 90th percentile in ms. */
  waits: (readonly (number | null)[])[];
}

/** The answer of POST /v1/reports/funnel from the rows of compileFunnel's statement. */
export function answerFunnel(options: {
  request: FunnelRequest;
  rows: readonly FunnelRow[];
  measured: Measured;
}): FunnelAnswer {
  const { request, rows, measured } = options;
  const meta = reportMeta(measured, measured.freshUntil < request.range.to + request.windowMs);
  if (!request.breakdown) return { steps: stepAnswers(request, rows[0]), meta };
  const total = rows.find((row) => row.kind === 'all');
  const breakdown = rows
    .filter((row) => row.kind !== 'all')
    .map((row): FunnelValueAnswer => ({ ...listedValue(row), steps: stepAnswers(request, row) }));
  return { steps: stepAnswers(request, total), breakdown, meta };
}

function stepAnswers({ steps }: FunnelRequest, row: FunnelRow | undefined): FunnelStepAnswer[] {
  const count = (at: number): number => row?.counts[at] ?? 0;
  const conversion = (at: number, from: number): number | null =>
    at === 0 ? 1 : count(from) === 0 ? null : count(at) / count(from);
  return steps.map(({ label }, at) => {
    const [median, p90] = row?.waits[at - 1] ?? [];
    return {
      event: label,
      count: count(at),
      conversion_from_previous: conversion(at, at - 1),
      conversion_from_first: conversion(at, 0),
      median_seconds_from_previous: seconds(median),
      p90_seconds_from_previous: seconds(p90),
    };
  });
}

/**
 * Milliseconds, interpolated by ClickHouse in floating point, as exact seconds: a median or 90th
 * percentile of whole milliseconds is a multiple of 0.1 ms, so rounding to that removes the
 * floating-point error.
 */
function seconds(milliseconds: number | null | undefined): number | null {
  return milliseconds === null || milliseconds === undefined
    ? null
    : Math.round(milliseconds * 10) / 10_000;
}
