import { isTestMessage, transactionalMessageId } from '../../events/messages/message-id.ts';
import type { MessageOutcome } from '../../schemas/records.ts';
import { retry } from '../../platform/backoff.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { TemplateVersion } from '../templates/template.ts';
import type { Completion } from './complete-messages.ts';
import type { Ending, MessageEnd } from './ending.ts';
import type { MessageResult } from './message-result.ts';
import type {
  Stage,
  TransactionalAnswer,
  TransactionalPorts,
  TransactionalRequest,
} from './ports.ts';
import { timed } from './timed.ts';
import type { Fenced, Handed, Reservation } from './reservation.ts';
import { MessageAttempts, type FirstAttempt } from './send-message.ts';
import type { Reserved } from './transactional-store.ts';

/** A client waits for so long until its result is stored, ms; then it has to ask again. */
const STORED_MS = 3000;
/** How long results and releases are tried again in the background, about ten minutes. */
const BACKGROUND = { attempts: 120, base: 200, cap: 5000 };
/** Results and releases that wait for PostgreSQL; more are lost, as in a crash. */
const MAX_BACKGROUND = 5000;

/**
 * Sends transactional messages, each once for its idempotency key (ARCHITECTURE.md, M4;
 * management 3.4). What is begun is finished, also when the client leaves.
 */
export class TransactionalSender {
  readonly #ports: TransactionalPorts;
  readonly #active = new Set<Promise<unknown>>();
  readonly #background = new Set<Promise<unknown>>();

  constructor(ports: TransactionalPorts) {
    this.#ports = ports;
  }

  /** Results and releases that are not stored yet. */
  get unstored(): number {
    return this.#background.size;
  }

  /** Never rejects. */
  async send(request: TransactionalRequest): Promise<TransactionalAnswer> {
    const { accountId } = request;
    const sending = this.#send(request).catch((error: unknown): TransactionalAnswer => {
      this.#ports.reports.problem(error, { accountId, code: 'message_not_sent' });
      return { kind: 'unavailable' };
    });
    this.#active.add(sending);
    try {
      return await sending;
    } finally {
      this.#active.delete(sending);
    }
  }

  /** Waits for what was begun, for at most `ms`. */
  async close(ms: number): Promise<void> {
    const all = async () => {
      while (this.#active.size + this.#background.size > 0)
        await Promise.allSettled([...this.#active, ...this.#background]);
    };
    await withDeadline({ ms, waitingFor: 'messages that are being sent' }, all()).catch(
      () => undefined,
    );
  }

  async #send(request: TransactionalRequest): Promise<TransactionalAnswer> {
    const { template: findTemplate, newFence } = this.#ports;
    const { accountId, templateId, idempotencyKey } = request;
    const template = await this.#timed('template', findTemplate(accountId, templateId));
    if (template?.category === 'marketing' && !isTestMessage(idempotencyKey))
      return { kind: 'marketing' };
    const fence = newFence();
    const attempts = new MessageAttempts({ ports: this.#ports, request, template, fence });
    const first = await attempts.first();
    const reserved = await this.#reserve({ request, fence, as: first.openedAs });
    if (reserved.kind === 'in_flight') return { kind: 'in_flight' };
    if (reserved.kind === 'completed')
      return { kind: 'answered', result: reserved.result, isReplay: true };
    const { reservation } = reserved;
    return this.#sendReserved({ request, template, attempts, first, reservation });
  }

  async #reserve({
    request: { accountId, idempotencyKey },
    fence,
    as,
  }: {
    request: TransactionalRequest;
    fence: number;
    as: string;
  }): Promise<Reserved> {
    const key = { accountId, idempotencyKey, fence };
    try {
      return await this.#timed('open', this.#ports.store.reserve(key, as));
    } catch (error) {
      // Whether a former holder had opened it is not known.
      void this.#release(key, 'former');
      throw error;
    }
  }

  #timed<Result>(stage: Stage, work: Promise<Result>): Promise<Result> {
    return timed(this.#ports, stage, work);
  }

  async #sendReserved(of: {
    request: TransactionalRequest;
    template: TemplateVersion | undefined;
    attempts: MessageAttempts;
    first: FirstAttempt;
    reservation: Reservation;
  }): Promise<TransactionalAnswer> {
    const { request, template, attempts, first, reservation } = of;
    const handed = () => (attempts.isLost ? 'call' : 'none');
    let ending: Ending;
    try {
      ending = await attempts.run(first, reservation);
    } catch (error) {
      void this.#release(reservation, handed());
      throw error;
    }
    if (ending.kind === 'superseded') return { kind: 'in_flight' };
    if (ending.kind === 'gave_up') {
      await this.#release(reservation, handed());
      return { kind: 'unavailable' };
    }
    const { end, attempts: calls } = ending;
    const completion = this.#completionOf({ request, template, reservation, end, calls });
    const storing = this.#timed(
      'complete',
      this.#inBackground(request.accountId, () => this.#ports.store.complete(completion)),
    );
    const isStored = await withDeadline(
      { ms: STORED_MS, waitingFor: 'a result to be stored' },
      storing,
    ).catch(() => false);
    // Another request may have replaced the stale reservation and stored a result: that one counts,
    // and the client gets it when it asks again.
    if (isStored !== true) return { kind: 'in_flight' };
    return { kind: 'answered', result: completion.result, isReplay: false };
  }

  #completionOf({
    request,
    template,
    reservation: { fence },
    end,
    calls,
  }: {
    request: TransactionalRequest;
    template: TemplateVersion | undefined;
    reservation: Reservation;
    end: MessageEnd;
    calls: number;
  }): Completion {
    const { accountId, idempotencyKey, userId, channel, category, templateId } = request;
    const messageId = transactionalMessageId({ accountId, idempotencyKey });
    const { status, reason } = end;
    const outcome: MessageOutcome = {
      ...{ account_id: accountId, message_id: messageId, campaign_id: 0, run_id: 0 },
      ...{ template_id: templateId, template_version: template?.version ?? 0, channel, category },
      ...{ person_id: end.personId, user_id: userId, address_hash: end.addressHash },
      ...{ status, reason, provider: end.provider, provider_message_id: end.providerMessageId },
      ...{ planned_at: request.receivedAt, finished_at: this.#ports.now(), attempts: calls },
    };
    const result = {
      ...{ message_id: messageId, channel, status },
      ...(reason === '' ? {} : { reason }),
    } as MessageResult;
    return { accountId, idempotencyKey, fence, result, outcome };
  }

  /** Resolves when the key is free, or as soon as that is left to the background. */
  async #release(key: Fenced, handed: Handed): Promise<void> {
    const released = this.#inBackground(key.accountId, () =>
      this.#ports.store.release(key, handed),
    );
    await withDeadline({ ms: STORED_MS, waitingFor: 'a key to be free' }, released).catch(
      () => undefined,
    );
  }

  /**
   * Repeats what is idempotent until PostgreSQL answers, within bounds. Never rejects; undefined:
   * it was given up.
   */
  #inBackground<Result>(
    accountId: number,
    task: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const { reports } = this.#ports;
    const code = 'message_not_stored';
    if (this.#background.size >= MAX_BACKGROUND) {
      reports.problem(new Error('too many results wait to be stored'), { accountId, code });
      return Promise.resolve(undefined);
    }
    const running = retry(
      {
        ...BACKGROUND,
        onFailure: (error, attempt) => {
          if (attempt === 0) reports.problem(error, { accountId, code });
        },
      },
      task,
    ).catch((error: unknown) => {
      reports.problem(error, { accountId, code });
      return undefined;
    });
    this.#background.add(running);
    void running.finally(() => this.#background.delete(running));
    return running;
  }
}
