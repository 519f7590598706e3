import { isJsonObject } from '../../../events/json.ts';
import { parseFunnel, type FunnelRequest } from '../funnel/request.ts';
import { parsed, reject, rejectWith, type Parsed } from '../report-problem.ts';
import { parseRetention, type RetentionRequest } from '../retention/request.ts';
import { parsePaths, type PathsRequest } from '../paths/request.ts';
import { parseTrends, type TrendsRequest } from '../trends/request.ts';
import { periodStartsOf } from '../trends/periods.ts';

/** Longer than any name of an event. */
const MAX_NAME_BYTES = 1024;

/** The people behind a number of a report. */
export type PeopleRequest =
  | {
      kind: 'funnel';
      request: FunnelRequest;
      /** From 1. */
      step: number;
      /** Those who reached the step before, and not this one. */
      isLost: boolean;
    }
  | {
      kind: 'retention';
      request: RetentionRequest;
      /** Position of the cohort, from 0. */
      cohort: number;
      /** Position of the period; undefined: the whole cohort. */
      period: number | undefined;
    }
  | {
      kind: 'trends';
      request: TrendsRequest;
      series: number;
      /** Position of the period; undefined: the whole range. */
      period: number | undefined;
    }
  | {
      kind: 'paths';
      request: PathsRequest;
      /** Names of the events from the first place on. */
      path: readonly string[];
      /** Those who did nothing more. */
      isEnd: boolean;
    };

/**
 * Reads `{funnel, step, lost?}`, `{retention, cohort, period?}`, `{trends, series, period?}` or
 * `{paths, path, end?}`, in which the report is the body of its own request.
 */
export function parsePeople(body: unknown): Parsed<PeopleRequest> {
  return parsed((): PeopleRequest => {
    if (!isJsonObject(body)) return reject('body');
    if (body['funnel'] !== undefined) {
      const request = requestOf(parseFunnel(body['funnel']));
      const step = position(body['step'], { from: 1, to: request.steps.length, name: 'step' });
      const isLost = body['lost'] === true;
      if (isLost && step === 1) reject('option', 'lost');
      return { kind: 'funnel', request, step, isLost };
    }
    if (body['retention'] !== undefined) {
      const request = requestOf(parseRetention(body['retention']));
      const cohort = position(body['cohort'], { from: 0, to: 4095, name: 'cohort' });
      const period = optional(body['period'], request.periods - 1);
      return { kind: 'retention', request, cohort, period };
    }
    if (body['paths'] !== undefined) {
      const request = requestOf(parsePaths(body['paths']));
      const path = pathOf(body['path'], request.depth);
      return { kind: 'paths', request, path, isEnd: body['end'] === true };
    }
    const request = requestOf(parseTrends(body['trends']));
    const series = position(body['series'], {
      ...{ from: 0, to: request.series.length - 1, name: 'series' },
    });
    const period = optional(body['period'], periodStartsOf(request).length - 2);
    return { kind: 'trends', request, series, period };
  });
}

function requestOf<Request>(read: Parsed<Request>): Request {
  return read.ok ? read.request : rejectWith(read.problem);
}

function pathOf(sent: unknown, depth: number): string[] {
  const isPath =
    Array.isArray(sent) &&
    sent.length <= depth &&
    sent.every((name) => typeof name === 'string' && Buffer.byteLength(name) <= MAX_NAME_BYTES);
  return isPath ? (sent as string[]) : reject('option', 'path');
}

function optional(sent: unknown, to: number): number | undefined {
  return sent === undefined ? undefined : position(sent, { from: 0, to, name: 'period' });
}

function position(
  sent: unknown,
  { from, to, name }: { from: number; to: number; name: string },
): number {
  return typeof sent === 'number' && Number.isInteger(sent) && sent >= from && sent <= to
    ? sent
    : reject('option', name);
}
