import { FAILURE_REASONS, type FailureReason } from '../../events/messages/reasons.ts';
import type { ProviderAnswer } from '../providers/provider.ts';

/** `retry` and `broken`: no provider has the message. `unknown`: one may have it. */
export type DeliveryStatus =
  | { status: 'sent'; providerMessageId: string }
  | { status: 'failed'; reason: FailureReason; detail: string }
  | { status: 'retry'; reason: string; detail: string; afterMs: number | undefined }
  | { status: 'broken'; reason: string; detail: string }
  | { status: 'unknown'; reason: string; detail: string };

/**
 * What the answers about one message mean together: accepted once is sent; one that may have been
 * accepted forbids another attempt; a sender that is refused comes before what can be tried again.
 */
export function decideDelivery(answers: readonly ProviderAnswer[]): DeliveryStatus {
  const accepted = answers.find(({ kind }) => kind === 'accepted');
  if (accepted?.kind === 'accepted')
    return { status: 'sent', providerMessageId: accepted.providerMessageId };
  for (const kind of ['unknown', 'broken'] as const) {
    const found = answers.find((answer) => answer.kind === kind);
    if (found?.kind === kind) return { status: kind, reason: found.reason, detail: found.detail };
  }
  const retries = answers.filter((answer) => answer.kind === 'retry');
  const [retry] = retries;
  if (retry) {
    const waits = retries.flatMap(({ afterMs }) => afterMs ?? []);
    const afterMs = waits.length === 0 ? undefined : Math.max(...waits);
    return { status: 'retry', reason: retry.reason, detail: retry.detail, afterMs };
  }
  const refusals = answers.filter(({ kind }) => kind === 'rejected' || kind === 'dead_address');
  const refused = refusals.find(({ kind }) => kind === 'rejected') ?? refusals[0];
  const detail =
    refused?.kind === 'rejected' || refused?.kind === 'dead_address' ? refused.detail : '';
  return { status: 'failed', reason: failureOf(refused), detail };
}

function failureOf(answer: ProviderAnswer | undefined): FailureReason {
  if (answer?.kind === 'dead_address') return 'dead_address';
  const known = answer?.kind === 'rejected' && isFailure(answer.reason) ? answer.reason : undefined;
  return known ?? 'rejected_by_provider';
}

function isFailure(reason: string): reason is FailureReason {
  return Object.hasOwn(FAILURE_REASONS, reason);
}
