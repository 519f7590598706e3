import { delay } from '../../platform/backoff.ts';
import { CommandError } from '../command.ts';
import type { DemoKeys, Ready } from '../stack/ready.ts';

interface ManagementRequest {
  method: 'GET' | 'POST';
  path: string;
  role: keyof DemoKeys['management_keys'];
  body?: object;
}

type Answered<Answer> = { answer: Answer } | { problem: string };

const TIMEOUT_MS = 35_000;
const PAUSE_MS = 1000;
const WAIT_MS = 60_000;

/** The part of a report's answer that shows its freshness. */
interface Fresh {
  meta: { fresh_until: string };
}

/**
 * One request with a key of the demo account. A busy machine may break a connection or answer 503:
 * it is repeated for a minute. Throws CommandError.
 */
export async function askManagement<Answer>(
  ready: Ready,
  request: ManagementRequest,
): Promise<Answer> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const answered = await ask<Answer>(ready, request);
    if ('answer' in answered) return answered.answer;
    if (Date.now() > deadline) throw new CommandError(answered.problem);
    await delay(PAUSE_MS);
  }
}

/**
 * Asks for a report until it covers all that was sent, at most a minute; then as it is.
 * @param options.sentBy ms since the epoch
 */
export async function freshReport<Answer>(
  ready: Ready,
  options: { report: 'funnel' | 'retention'; body: object; sentBy: number },
): Promise<Answer> {
  const path = `/v1/reports/${options.report}`;
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const { body } = options;
    const report = await askManagement<Answer & Fresh>(ready, {
      ...{ method: 'POST', path, role: 'analyst', body },
    });
    if (Date.parse(report.meta.fresh_until) >= options.sentBy || Date.now() > deadline)
      return report;
    // A report costs 25 of the 600 units a minute: a query every three seconds stays within the
    // budget.
    await delay(3000);
  }
}

/** Throws CommandError when another attempt cannot succeed. */
async function ask<Answer>(
  ready: Ready,
  { method, path, role, body }: ManagementRequest,
): Promise<Answered<Answer>> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${ready.base_url}${path}`, {
      method,
      headers: { authorization: `Bearer ${ready.demo.management_keys[role]}` },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await response.text();
  } catch (error) {
    return { problem: `the management host does not answer: ${(error as Error).message}` };
  }
  if (response.ok) return { answer: JSON.parse(text) as Answer };
  const problem = `${method} ${path} was answered ${response.status}: ${text}`;
  if (response.status < 500 && response.status !== 429) throw new CommandError(problem);
  return { problem };
}
