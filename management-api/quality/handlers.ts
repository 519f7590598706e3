import { answer, reject, type Answer } from '../errors/domain-error.ts';
import type { ApiRequest } from '../http/request.ts';
import { dayOf } from '../conditions/time-zone.ts';
import type { Services } from '../services.ts';
import { qualityLabel } from './labels.ts';
import type { QualityRow } from './queries.ts';

const DAY = 86_400_000;
const DEFAULT_DAYS = 7;
/** The specification leaves the upper bound open; longer ones are cut to this. */
const MAX_DAYS = 90;

/** GET /v1/ingest/quality (management 2.5). The last day is today in Tehran. */
export async function getIngestQuality(request: ApiRequest, services: Services): Promise<Answer> {
  const days = readDays(request.query.get('days'));
  const today = dayOf(request.now, 'Asia/Tehran');
  const [from, to] = [dateOf(today - days + 1), dateOf(today)];
  try {
    const rows = await services.readQuality({
      accountId: request.caller.accountId,
      from,
      to,
      signal: request.signal,
    });
    const total = (kind: string) => rows.find((row) => row.kind === kind)?.of_kind ?? 0;
    return answer({
      days,
      from,
      to,
      totals: { rejected: total('reject'), warned: total('warn') },
      rows: rows.map(shown),
    });
  } catch (error) {
    services.log.warn(
      {
        err: error,
        code: 'quality_failed',
        account_id: request.caller.accountId,
        trace: request.trace,
      },
      'ingest quality could not be read',
    );
    return reject('quality_unavailable');
  }
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
