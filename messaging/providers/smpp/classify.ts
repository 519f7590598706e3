import type { ProviderAnswer } from '../provider.ts';

type Refusal = Exclude<ProviderAnswer, { kind: 'accepted' }>;

const REFUSALS: ReadonlyMap<number, [Refusal['kind'], reason: string, name: string]> = new Map([
  [0x01, ['rejected', 'too_large', 'ESME_RINVMSGLEN']],
  [0x04, ['retry', 'unreachable', 'ESME_RINVBNDSTS']],
  [0x08, ['retry', 'unavailable', 'ESME_RSYSERR']],
  [0x0a, ['broken', 'sender_refused', 'ESME_RINVSRCADR']],
  [0x0b, ['dead_address', 'invalid_number', 'ESME_RINVDSTADR']],
  [0x14, ['retry', 'unavailable', 'ESME_RMSGQFUL']],
  [0x45, ['retry', 'unavailable', 'ESME_RSUBMITFAIL']],
  [0x48, ['broken', 'sender_refused', 'ESME_RINVSRCTON']],
  [0x49, ['broken', 'sender_refused', 'ESME_RINVSRCNPI']],
  [0x58, ['retry', 'rate_limited', 'ESME_RTHROTTLED']],
  [0x64, ['retry', 'unavailable', 'ESME_RX_T_APPN']],
  [0x100, ['broken', 'credentials', 'ESME_RSERTYPUNAUTH']],
  [0x101, ['broken', 'credentials', 'ESME_RPROHIBITED']],
]);

/** What a message centre means with the status of a submit_sm_resp other than 0. */
export function refusalOf(status: number): Refusal {
  const [kind, reason, name] = REFUSALS.get(status) ?? [
    ...(['rejected', 'rejected_by_provider'] as const),
    `command_status 0x${status.toString(16)}`,
  ];
  return { kind, reason, detail: name };
}

/** Before the message centre knows the sender there may be faults that pass. */
const PASSING_BIND_FAILURES: ReadonlySet<number> = new Set([0x05, 0x08, 0x14, 0x58, 0x64]);

/** What the status of a bind_transceiver_resp other than 0 means. */
export function bindFailure(status: number): Refusal {
  const detail = `bind_transceiver: command_status 0x${status.toString(16)}`;
  return PASSING_BIND_FAILURES.has(status)
    ? { kind: 'retry', reason: 'unreachable', detail }
    : { kind: 'broken', reason: 'credentials', detail };
}
