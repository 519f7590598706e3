import type { ReconciliationCounts } from '../../../platform/meters/read-reconciliation.ts';
import type { MessageBalance } from '../../../pipeline/dispatcher/runs/balance.ts';
import type { WaitingRuns } from '../../../pipeline/planner/waiting-runs.ts';
import type { CommandTotals } from '../../../projections/addresses/books.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';

const WAIT_MS = 3000;

/** Reconciliation counts for `./ravand status`; undefined while metering does not answer. */
export async function readReconciliation(
  plan: StackPlan,
  account: string | undefined,
): Promise<ReconciliationCounts | undefined> {
  const query = account === undefined ? '' : `?account=${encodeURIComponent(account)}`;
  const [counts, spooled] = await Promise.all([
    fetchJson<ReconciliationCounts>(plan.admin_ports['metering'], `/books${query}`),
    fetchJson<{ events: number }>(plan.admin_ports['ingest-gateway'], `/spool${query}`),
  ]);
  if (counts === undefined) return undefined;
  const inSpool = spooled?.events ?? 0;
  return { ...counts, received: counts.received + inSpool, spooled: inSpool };
}

/** The books of commands of channels; undefined while addresses-sink does not answer. */
export function readCommandBooks(
  plan: StackPlan,
  account: string | undefined,
): Promise<CommandTotals | undefined> {
  const query = account === undefined ? '' : `?account=${encodeURIComponent(account)}`;
  return fetchJson<CommandTotals>(plan.admin_ports['addresses-sink'], `/books${query}`);
}

export function commandLines({ accepted, applied, missing }: CommandTotals): string[] {
  const [a, b, c] = [accepted, applied, missing].map((count) => count.toLocaleString('en'));
  return [`commands of channels: accepted ${a}, applied ${b}, missing ${c}`];
}

/** Runs of campaigns that wait; undefined while the planner does not answer. */
export function readWaitingRuns(plan: StackPlan): Promise<WaitingRuns | undefined> {
  return fetchJson<WaitingRuns>(plan.admin_ports['planner'], '/runs');
}

/** The balance of messages of campaigns; undefined while the dispatcher does not answer. */
export function readMessages(
  plan: StackPlan,
  account: string | undefined,
): Promise<MessageBalance | undefined> {
  const query = account === undefined ? '' : `?account=${encodeURIComponent(account)}`;
  return fetchJson<MessageBalance>(plan.admin_ports['dispatcher'], `/messages${query}`);
}

export function messageLines({ totals, gap, runs, accounts }: MessageBalance): string[] {
  const count = (name: keyof MessageBalance['totals']) => totals[name].toLocaleString('en');
  const places = (names: readonly { id: number; gap: number }[]) =>
    names.map(({ id, gap: own }) => `${id} (${own.toLocaleString('en')})`).join(', ');
  return [
    `messages of campaigns: planned ${count('planned')} = sent ${count('sent')} + failed ${count('failed')} + withheld ${count('withheld')} + skipped ${count('skipped')} + in flight ${count('in_flight')}`,
    ...(gap > 0 ? [`! the sum differs from planned by ${gap.toLocaleString('en')} messages`] : []),
    ...(accounts.length > 0 ? [`! differs in accounts ${places(accounts)}`] : []),
    ...(runs.length > 0 ? [`! differs in runs ${places(runs)}`] : []),
  ];
}

export function reconciliationLines(counts: ReconciliationCounts): string[] {
  const count = (name: keyof ReconciliationCounts) => counts[name].toLocaleString('en');
  // Only an installation whose log went back has lost events.
  const lost = counts.lost ? ` + lost ${count('lost')}` : '';
  return [
    '',
    `books: received ${count('received')} = rejected ${count('rejected')} + duplicate ${count('duplicate')} + published ${count('published')} + spooled ${count('spooled')}`,
    `       published ${count('published')} = stored ${count('stored')} + dead ${count('dead')}${lost} + in flight ${count('in_flight')}`,
  ];
}

async function fetchJson<T>(adminPort: number | undefined, path: string): Promise<T | undefined> {
  if (adminPort === undefined) return undefined;
  try {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
      signal: AbortSignal.timeout(WAIT_MS),
    });
    return response.ok ? ((await response.json()) as T) : undefined;
  } catch {
    return undefined;
  }
}
