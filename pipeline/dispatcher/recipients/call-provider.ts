import type { Channel } from '../../../events/channels/channel-change.ts';
import type { DeliveryReports } from '../../../messaging/delivery/delivery-reports.ts';
import { PART_REFUSED } from '../../../messaging/senders/joined-provider.ts';
import { deliver, type Delivery } from '../../../messaging/delivery/deliver.ts';
import type { OpenSender } from '../../../messaging/senders/senders.ts';
import { onAbort } from '../../../platform/on-abort.ts';
import type { SenderAnswer } from '../senders/sender-gate.ts';
import type { CallAnswer, PreparedMessage } from '../worker/ports.ts';
import { shareEnding } from './call-ending.ts';

/** What the calls of a chunk have in common. */
export interface Calling {
  accountId: number;
  channel: Channel;
  sender: OpenSender;
  reports: Pick<DeliveryReports, 'dead' | 'broken' | 'working'>;
  /** @param ms duration of the call */
  answered: (answer: SenderAnswer, ms: number) => void;
  /** ms since the epoch */
  now: () => number;
  /** Aborted: the call ends now. */
  signal: AbortSignal;
}

/** Longer than a provider waits for any answer; an e-mail may take 6 minutes. */
const LIMIT_MS = 420_000;
/** In which a call that was aborted ends. */
const END_MS = 1000;

/**
 * Hands a message to the provider, whose attempt is recorded. Never rejects, and ends, whatever the
 * provider does: then one may have the message.
 */
export async function callProvider(
  calling: Calling,
  message: PreparedMessage,
): Promise<CallAnswer> {
  const { accountId, channel, sender, reports, answered, now } = calling;
  const calledAt = now();
  const delivery = await boundedDelivery(calling, message);
  // What one of several senders refuses says nothing about the others.
  if (delivery.status !== 'retry' || delivery.reason !== PART_REFUSED)
    answered(senderAnswer(delivery), now() - calledAt);
  const { dead } = delivery;
  const { userId } = message;
  if (dead.length > 0) reports.dead({ accountId, channel, userId, dead, calledAt });
  if (delivery.status === 'broken')
    reports.broken(nameOf(calling), `${delivery.reason}: ${delivery.detail}`);
  if (delivery.status === 'sent' && sender.broken) reports.working(nameOf(calling));
  return callAnswer(delivery);
}

function nameOf({ accountId, channel, sender: { provider, revision } }: Calling) {
  return { accountId, channel, provider: provider.name, revision };
}

function boundedDelivery({ sender, signal, now }: Calling, { messages }: PreparedMessage) {
  const ending = shareEnding(signal, { now: now(), limitMs: LIMIT_MS });
  return new Promise<Delivery>((resolve) => {
    const unknown = (detail: string) =>
      resolve({
        ...{ status: 'unknown', reason: 'no_answer', detail, calls: messages.length, dead: [] },
      });
    let timer: NodeJS.Timeout | undefined;
    const giveUp = () => {
      timer = setTimeout(() => unknown('the provider did not answer'), END_MS);
    };
    const stopListening = onAbort(ending.signal, giveUp);
    if (ending.signal.aborted) giveUp();
    const end = () => {
      clearTimeout(timer);
      stopListening();
      ending.release();
    };
    deliver(sender.provider, messages, ending).then(
      (delivery) => {
        resolve(delivery);
        end();
      },
      () => {
        unknown('the call failed');
        end();
      },
    );
  });
}

function senderAnswer(delivery: Delivery): SenderAnswer {
  switch (delivery.status) {
    case 'sent':
    case 'failed':
      return { kind: 'working' };
    case 'retry':
      return { kind: 'failing', afterMs: delivery.afterMs };
    case 'unknown':
      return { kind: 'failing', afterMs: undefined };
    case 'broken':
      return { kind: 'broken' };
  }
}

function callAnswer(delivery: Delivery): CallAnswer {
  switch (delivery.status) {
    case 'sent':
      return { kind: 'sent', providerMessageId: delivery.providerMessageId };
    case 'failed':
      return { kind: 'failed', reason: delivery.reason };
    case 'retry': {
      const { afterMs } = delivery;
      return afterMs === undefined ? { kind: 'retry' } : { kind: 'retry', afterMs };
    }
    case 'broken':
      return { kind: 'retry' };
    case 'unknown':
      return { kind: 'unknown' };
  }
}
