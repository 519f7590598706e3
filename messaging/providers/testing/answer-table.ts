import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProviderAnswer } from '../provider.ts';

/** A row of a table of answers in docs/providers.md. */
export interface AnswerRow {
  status: number;
  /** The provider's code, and what else the answer or the sender has. */
  code: string;
  expected: Partial<ProviderAnswer>;
}

const PAGE = join(import.meta.dirname, '../../../docs/providers.md');

/** The table of a provider: what its service answers, and what that means. */
export function answerTable(provider: string): AnswerRow[] {
  const page = readFileSync(PAGE, 'utf8');
  const [, section = ''] = page.split(new RegExp(`^## ${provider}$`, 'm'));
  const [own = ''] = section.split(/^## /m);
  return own
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .flatMap(([, status = '', code = '', kind = '', reason = '', after = '']) =>
      /^\d{3}$/.test(status)
        ? [{ status: Number(status), code, expected: answerOf({ kind, reason, after }) }]
        : [],
    );
}

function answerOf(row: { kind: string; reason: string; after: string }): Partial<ProviderAnswer> {
  return {
    kind: row.kind,
    ...(row.reason === '' ? {} : { reason: row.reason }),
    ...(row.after === '' ? {} : { afterMs: Number(row.after) * 1000 }),
  } as Partial<ProviderAnswer>;
}
