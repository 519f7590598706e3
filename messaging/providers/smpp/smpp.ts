import { delay } from '../../../platform/backoff.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';
import { detailWithout } from '../detail.ts';
import type { Opening } from '../opening.ts';
import type { Provider, ProviderAnswer, ProviderMessage } from '../provider.ts';
import { wrongTarget } from '../unsendable.ts';
import { refusalOf } from './classify.ts';
import { sourceAddress, type SmppConfig } from './config.ts';
import { SmppLink } from './link.ts';
import { partsOf, type SmsPart } from './parts.ts';

/** Messages whose responses are awaited: the window that message centres usually allow. */
const WINDOW = 10;
const MAX_WAITING = 1000;
const MAX_PARTS = 20;
/** After ESME_RTHROTTLED nothing is sent for so long, ms. */
const THROTTLED_MS = 1000;
/** A later part that is throttled is sent again, because the earlier ones have been sent. */
const PART_ATTEMPTS = 5;

/**
 * SMS over SMPP 3.4, as a transceiver. The secret is the password. A receipt is acknowledged
 * whenever it comes, also before the response to its message, and is not read further.
 */
export function openSmpp(config: SmppConfig, { channel, secret, deps }: Opening): Provider {
  const link = new SmppLink(config, secret, deps);
  const queue = new FairQueue({
    concurrency: WINDOW,
    maxWaiting: { total: MAX_WAITING, perAccount: MAX_WAITING },
  });
  let reference = Math.floor(deps.random() * 256);
  let throttledUntil = 0;

  const sendPart = async (
    message: ProviderMessage,
    { number, part }: { number: string; part: SmsPart },
    signal: AbortSignal,
  ): Promise<ProviderAnswer> => {
    const wait = throttledUntil - deps.now();
    if (wait > 0) await delay(wait, signal).catch(() => undefined);
    const linked = await link.use();
    if (linked.kind !== 'bound') return linked;
    if (signal.aborted) return notSent('aborted');
    const result = await linked.session.submit(
      {
        ...sourceAddress(config.source),
        ...{ destination_addr: number, dest_addr_ton: 1, dest_addr_npi: 1 },
        ...{ data_coding: part.dataCoding, esm_class: part.esmClass, short_message: part.bytes },
        validity_period: new Date(message.expiresAt),
      },
      signal,
    );
    if (result.kind === 'not_sent') return notSent('the session ended');
    if (result.kind === 'lost')
      return { kind: 'unknown', reason: 'no_answer', detail: result.message };
    if (result.status === 0) return { kind: 'accepted', providerMessageId: result.messageId };
    const refusal = refusalOf(result.status);
    if (refusal.reason !== 'rate_limited') return refusal;
    throttledUntil = deps.now() + THROTTLED_MS;
    return { ...refusal, kind: 'retry', afterMs: THROTTLED_MS };
  };

  /** The first part decides; what happens to a later one cannot take the first one back. */
  const sendAll = async (message: ProviderMessage, number: string, signal: AbortSignal) => {
    const [first, ...others] = partsOf(message.content.text, reference++);
    if (!first || others.length >= MAX_PARTS)
      return refused('too_large', `more than ${MAX_PARTS} parts`);
    const answer = await sendPart(message, { number, part: first }, signal);
    if (answer.kind !== 'accepted') return answer;
    for (const part of others) {
      const later = await sendLaterPart(() => sendPart(message, { number, part }, signal), signal);
      if (later.kind !== 'accepted') return partly(later);
    }
    return answer;
  };

  return {
    channel,
    name: 'smpp',
    isIdempotent: false,
    async send(message, { signal }) {
      if (message.to.kind !== 'phone') return wrongTarget('smpp', message.to);
      const number = message.to.number.replace(/^\+|^00/, '');
      if (!/^\d{5,15}$/.test(number))
        return { kind: 'dead_address', reason: 'invalid_number', detail: 'not a phone number' };
      const sending = queue.run(0, async () =>
        signal.aborted ? notSent('aborted') : await sendAll(message, number, signal),
      );
      const answer = await (sending ?? notSent('too many messages wait'));
      if (answer.kind === 'accepted') return answer;
      return { ...answer, detail: detailWithout(secret, answer.detail) };
    },
    close() {
      link.close();
      return Promise.resolve();
    },
  };
}

async function sendLaterPart(
  send: () => Promise<ProviderAnswer>,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send();
    if (answer.kind !== 'retry' || attempt === PART_ATTEMPTS || signal.aborted) return answer;
    await delay(answer.afterMs ?? THROTTLED_MS, signal).catch(() => undefined);
  }
}

function partly({ detail }: Exclude<ProviderAnswer, { kind: 'accepted' }>): ProviderAnswer {
  return { kind: 'unknown', reason: 'partly_accepted', detail };
}

function notSent(detail: string): ProviderAnswer {
  return { kind: 'retry', reason: 'unreachable', detail };
}

function refused(reason: string, detail: string): ProviderAnswer {
  return { kind: 'rejected', reason, detail };
}
