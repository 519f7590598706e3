import { answer, type Answer } from '../errors/domain-error.ts';
import { answerOrUnavailable } from '../http/answer-or-unavailable.ts';
import type { ApiRequest } from '../http/request.ts';
import { dayOf } from '../../audiences/conditions/time-zone.ts';
import type { Services } from '../services.ts';
import { qualityLabel } from './labels.ts';
import type { QualityRow } from './queries.ts';

const DAY = 86_400_000;
const DEFAULT_DAYS = 7;
/** The specification leaves the upper bound open; longer ones are cut to this. */
const MAX_DAYS = 90;

/** GET /v1/ingest/quality (management 2.5). The last day is today in Tehran. */
export function getIngestQuality(request: ApiRequest, services: Services): Promise<Answer> {
  const days = readDays(request.query.get('days'));
  const today = dayOf(request.now, 'Asia/Tehran');
  const [from, to] = [dateOf(today - days + 1), dateOf(today)];
  const { signal } = request;
  return answerOrUnavailable({
    ...{ request, services, error: 'quality_unavailable', code: 'quality_failed' },
    message: 'ingest quality could not be read',
    async work(accountId) {
      const rows = await services.readQuality({ accountId, from, to, signal });
      const total = (kind: string) => rows.find((row) => row.kind === kind)?.of_kind ?? 0;
      const totals = { rejected: total('reject'), warned: total('warn') };
      return answer({ days, from, to, totals, rows: rows.map(shown) });
    },
  });
}

function shown({
  day,
  kind,
  code,
  field,
  sdk,
  app_id,
  count,
}: QualityRow): Record<string, unknown> {
  return {
    day,
    kind,
    code,
    ...(kind === 'warn' ? { field } : {}),
    sdk,
    app_id,
    count,
    label: qualityLabel(kind, code),
  };
}

function readDays(text: string | null): number {
  const days = /^\d+$/.test(text ?? '') ? Number(text) : 0;
  return days === 0 ? DEFAULT_DAYS : Math.min(days, MAX_DAYS);
}

function dateOf(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 10);
}
