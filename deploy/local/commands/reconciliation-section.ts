import { readJsonFile } from '../../../cli/json-file.ts';
import type { ReconciliationCounts } from '../../../pipeline/metering/read-reconciliation.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import type { StatusSection } from './status-sections.ts';

const WAIT_MS = 3000;

/** `books` of `./ravand status`: the reconciliation counts of everything, or of one account. */
export const reconciliationSection: StatusSection = {
  name: 'books',
  async read({ context, account }) {
    const plan = readJsonFile<StackPlan>(context.home.planFile);
    const metering = plan?.admin_ports['metering'];
    if (plan === undefined || metering === undefined) return undefined;
    const query = account === undefined ? '' : `?account=${encodeURIComponent(account)}`;
    const [counted, spooled] = await Promise.all([
      fetchJson<ReconciliationCounts>(`http://127.0.0.1:${metering}/books${query}`),
      spooledEvents(plan, query),
    ]);
    if (counted === undefined) return undefined;
    return { ...counted, received: counted.received + spooled, spooled };
  },
  show(value) {
    const books = value as ReconciliationCounts;
    const number = (count: number) => count.toLocaleString('en');
    return [
      '',
      `books: received ${number(books.received)} = rejected ${number(books.rejected)} + duplicate ${number(books.duplicate)} + published ${number(books.published)} + spooled ${number(books.spooled)}`,
      `       published ${number(books.published)} = stored ${number(books.stored)} + dead ${number(books.dead)} + in flight ${number(books.in_flight)}`,
    ];
  },
};

/** Events in the gateway's spool; 0 while the gateway is unavailable. */
async function spooledEvents(plan: StackPlan, query: string): Promise<number> {
  const gateway = plan.admin_ports['ingest-gateway'];
  if (gateway === undefined) return 0;
  const answer = await fetchJson<{ events: number }>(`http://127.0.0.1:${gateway}/spool${query}`);
  return answer?.events ?? 0;
}

async function fetchJson<T>(url: string): Promise<T | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(WAIT_MS) });
    return response.ok ? ((await response.json()) as T) : undefined;
  } catch {
    return undefined;
  }
}
