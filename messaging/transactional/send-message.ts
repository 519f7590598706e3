import { transactionalMessageId } from '../../events/messages/message-id.ts';
import { backoffDelay } from '../../platform/backoff.ts';
import { withTimeLimit } from '../../platform/deadline.ts';
import { decideSend } from '../delivery/decide-send.ts';
import { deliver, type Delivery } from '../delivery/deliver.ts';
import type { Prepared } from '../delivery/prepare-messages.ts';
import { MAX_CONSENT_LAG_MS } from '../recipients/consent-lag.ts';
import type { Resolved } from '../recipients/resolved.ts';
import type { OpenSender } from '../senders/senders.ts';
import { DEFAULT_SETTINGS } from '../settings/settings.ts';
import { namedVariables } from '../templates/named-variables.ts';
import type { TemplateVersion } from '../templates/template.ts';
import type { Ending, MessageEnd } from './ending.ts';
import type { TransactionalPorts, TransactionalRequest } from './ports.ts';
import type { Reservation } from './reservation.ts';
import { timed } from './timed.ts';

/**
 * Transient errors of a provider are tried again for so long, ms (docs/messages.md, Send one
 * message).
 */
const RETRY_MS = 20_000;
/** A call that takes longer is given up: the listener closes at 30 s (management 8.4). */
const LIMIT_MS = 26_000;
/** A message is of no use a day later, ms. */
const EXPIRES_MS = 86_400_000;
const BACKOFF = { base: 250, cap: 2000, min: 50 };

interface ReadyMessage {
  sender: OpenSender;
  template: TemplateVersion;
  resolved: Resolved;
  prepared: Extract<Prepared, { kind: 'ready' }>;
}

/** `problem`: why it could not be rendered. */
type NotReady = Pick<MessageEnd, 'status' | 'reason'> & { personId?: string; problem?: string };

type Decided = ReadyMessage | NotReady | typeof LATER;

/** The first attempt, before the key is reserved. */
export interface FirstAttempt {
  /** Undefined: it is decided once the key is reserved. */
  decided: Promise<Decided> | undefined;
  /** By what the reservation has recorded it; empty: it has not. */
  openedAs: string;
}

/**
 * Sends one message: decides, renders, records the attempt and calls the provider, again and again
 * while the provider certainly did not take it. Rejects when a store does, before the attempt is
 * recorded or while it is being recorded; nothing was handed over by this holder then.
 */
export class MessageAttempts {
  readonly #ports: TransactionalPorts;
  readonly #request: TransactionalRequest;
  readonly #template: TemplateVersion | undefined;
  readonly #fence: number;
  readonly #began: number;
  /** Looked up while the key is being reserved. */
  #resolved: Promise<Resolved> | undefined;
  #attempts = 0;
  /** What the last call was. */
  #called: Partial<MessageEnd> = {};
  /** The sender that may have the message: whatever comes, it is not certainly unsent. */
  #lostWith = '';

  constructor(options: {
    ports: TransactionalPorts;
    request: TransactionalRequest;
    template: TemplateVersion | undefined;
    fence: number;
  }) {
    this.#ports = options.ports;
    this.#request = options.request;
    this.#template = options.template;
    this.#fence = options.fence;
    this.#began = options.ports.now();
    const { template, request } = options;
    if (template?.channel === request.channel) this.#resolved = this.#resolve(template);
    this.#resolved?.catch(() => undefined);
  }

  /** A provider may have the message. */
  get isLost(): boolean {
    return this.#lostWith !== '';
  }

  /**
   * The first attempt, and by what the key is to be reserved. It is decided and rendered before
   * that: then the reservation records it too, and of two requests with one key the loser's work is
   * thrown away. Not an e-mail: rendering it stores to whom its tokens belong, which only the
   * holder of the key knows. Never rejects.
   */
  async first(): Promise<FirstAttempt> {
    if (this.#request.channel === 'email') return { decided: undefined, openedAs: '' };
    const decided = this.#decide();
    const ready = await decided.catch((): Decided => LATER);
    const isReady = ready !== LATER && 'sender' in ready;
    return { decided, openedAs: isReady ? identityOf(ready.sender) : '' };
  }

  /** @param reservation of the key, under the fence */
  async run(first: FirstAttempt, { openedWith }: Pick<Reservation, 'openedWith'>): Promise<Ending> {
    this.#lostWith = openedWith;
    // What a former holder opened stays as that one recorded it.
    const isOpened = first.openedAs !== '' && !this.isLost;
    try {
      return await this.#run(first.decided, isOpened);
    } catch (error) {
      // A call of this holder may have arrived: the request cannot be said to have done nothing.
      if (this.isLost && this.#attempts > 0) return this.#finish(UNKNOWN, this.#called);
      throw error;
    }
  }

  async #run(first: Promise<Decided> | undefined, isFirstOpened: boolean): Promise<Ending> {
    const { now, random, wait } = this.#ports;
    for (let attempt = 0; ; attempt++) {
      const ready = await ((attempt === 0 ? first : undefined) ?? this.#decide());
      this.#report(ready);
      if (ready === LATER)
        return this.isLost
          ? this.#finish(UNKNOWN, this.#called)
          : { kind: 'gave_up', attempts: this.#attempts };
      if ('status' in ready) return this.#finish(this.isLost ? UNKNOWN : ready, ready);
      if (!this.#mayCall(ready.sender)) return this.#finish(UNKNOWN, of(ready));
      if (!(attempt === 0 && isFirstOpened) && !(await this.#open(ready.sender)))
        return { kind: 'superseded', attempts: this.#attempts };
      const delivery = await this.#call(ready);
      const ending = this.#endOf(delivery, ready);
      if (ending) return ending;
      const afterMs = delivery.status === 'retry' ? delivery.afterMs : undefined;
      const backoff = backoffDelay({ ...BACKOFF, attempt, random: random() });
      const pause = Math.max(backoff, afterMs ?? 0);
      if (now() + pause - this.#began > RETRY_MS) return this.#giveUp(ready);
      // Failing, it may take effect later: nothing may be called under this reservation any more.
      if (!this.isLost) await this.#ports.store.unopen(this.#key);
      await wait(pause);
    }
  }

  #open(sender: OpenSender): Promise<boolean> {
    const { store } = this.#ports;
    return timed(this.#ports, 'open', store.open(this.#key, identityOf(sender)));
  }

  get #key() {
    const { accountId, idempotencyKey } = this.#request;
    return { accountId, idempotencyKey, fence: this.#fence };
  }

  /** What may have been sent is only repeated by the same sender, which takes nothing twice. */
  #mayCall(sender: OpenSender): boolean {
    if (!this.isLost) return true;
    return sender.provider.isIdempotent && this.#lostWith === identityOf(sender);
  }

  #resolve({ content }: TemplateVersion): Promise<Resolved> {
    const { accountId, userId, channel } = this.#request;
    const recipient = { accountId, channel, personId: userId, userId };
    return this.#ports.resolve({ ...recipient, variables: namedVariables(content) });
  }

  async #decide(): Promise<Decided> {
    const { accountId, channel, category } = this.#request;
    const template = this.#template;
    if (template?.channel !== channel) return { status: 'skipped', reason: 'unknown_template' };
    const sender = await this.#ports.sender(accountId, channel);
    if (!sender) return { status: 'skipped', reason: 'channel_not_configured' };
    const consentsAreLate =
      category === 'marketing' && (await this.#ports.consentLag()) > MAX_CONSENT_LAG_MS;
    if (consentsAreLate) return LATER;
    const resolving = this.#resolved ?? this.#resolve(template);
    // Another attempt looks the recipient up again.
    this.#resolved = undefined;
    const resolved = await timed(this.#ports, 'resolve', resolving);
    const personId = resolved.canonical;
    const context = { category, settings: DEFAULT_SETTINGS, now: this.#ports.now() };
    const decision = decideSend(resolved, context);
    if (decision.kind === 'skip') return { status: 'skipped', reason: decision.reason, personId };
    const prepared = await this.#prepare(template, sender, resolved);
    if (prepared.kind === 'ready') return { sender, template, resolved, prepared };
    if (prepared.kind === 'later') return LATER;
    const { status, reason } = prepared;
    return { status, reason, personId, ...('detail' in prepared && { problem: prepared.detail }) };
  }

  async #prepare(
    template: TemplateVersion,
    { provider }: OpenSender,
    resolved: Resolved,
  ): Promise<Prepared> {
    const { accountId, idempotencyKey, userId, vars, category, receivedAt } = this.#request;
    const messageId = transactionalMessageId({ accountId, idempotencyKey });
    const preparing = this.#ports.prepare({
      ...{ template, category, provider: provider.name, campaignId: 0, utm: {} },
      expiresAt: receivedAt + EXPIRES_MS,
      messages: [{ messageId, userId, resolved, vars, event: {} }],
    });
    const [prepared] = await timed(this.#ports, 'prepare', preparing);
    if (!prepared) throw new Error('a message was not prepared');
    return prepared;
  }

  /** What rendering showed; nothing of a request whose key somebody else has. */
  #report(decided: Decided): void {
    const { reports } = this.#ports;
    const { accountId } = this.#request;
    if (decided === LATER) return;
    if ('sender' in decided) reports.missing(decided.template, decided.prepared.missing);
    else if (decided.problem !== undefined)
      reports.problem(new Error(decided.problem), { accountId, code: 'render_failed' });
  }

  async #call(ready: ReadyMessage): Promise<Delivery> {
    const { sender, prepared } = ready;
    const { now, reports } = this.#ports;
    const { accountId, channel, userId } = this.#request;
    const calledAt = now();
    const delivering = withTimeLimit(LIMIT_MS - (calledAt - this.#began), (signal) =>
      deliver(sender.provider, prepared.messages, { signal }),
    );
    const delivery = await timed(this.#ports, 'call', delivering);
    this.#attempts += delivery.calls;
    this.#called = of(ready);
    const { dead } = delivery;
    if (dead.length > 0) reports.dead({ accountId, channel, userId, dead, calledAt });
    const { revision } = sender;
    const name = { accountId, channel, provider: sender.provider.name, revision };
    if (delivery.status === 'broken')
      reports.broken(name, `${delivery.reason}: ${delivery.detail}`);
    if (delivery.status === 'sent' && sender.broken) reports.working(name);
    return delivery;
  }

  /** Undefined: it is tried again. */
  #endOf(delivery: Delivery, ready: ReadyMessage): Ending | undefined {
    switch (delivery.status) {
      case 'sent': {
        const { providerMessageId } = delivery;
        return this.#finish({ status: 'sent', reason: '' }, { ...of(ready), providerMessageId });
      }
      case 'failed': {
        const { reason } = delivery;
        return this.#finish(this.isLost ? UNKNOWN : { status: 'failed', reason }, of(ready));
      }
      case 'unknown':
        this.#lostWith = identityOf(ready.sender);
        return ready.sender.provider.isIdempotent ? undefined : this.#giveUp(ready);
      case 'broken':
        return this.#giveUp(ready);
      case 'retry':
        return undefined;
    }
  }

  #giveUp(ready: ReadyMessage): Ending {
    if (this.isLost) return this.#finish(UNKNOWN, of(ready));
    return { kind: 'gave_up', attempts: this.#attempts };
  }

  #finish(how: Pick<MessageEnd, 'status' | 'reason'>, known: Partial<MessageEnd>): Ending {
    const { userId } = this.#request;
    return {
      ...{ kind: 'finished', attempts: this.#attempts },
      end: {
        ...{ personId: known.personId ?? userId, addressHash: known.addressHash ?? '' },
        ...{ provider: known.provider ?? '', providerMessageId: known.providerMessageId ?? '' },
        ...{ status: how.status, reason: how.reason },
      },
    };
  }
}

/** It cannot be rendered now, or an unsubscription may not be known yet. */
const LATER = 'later';
const UNKNOWN = { status: 'failed', reason: 'outcome_unknown' } as const;

function of({ sender, resolved, prepared }: ReadyMessage): Partial<MessageEnd> {
  return {
    ...{ personId: resolved.canonical, addressHash: prepared.addressHash },
    provider: sender.provider.name,
  };
}

/** Whose idempotency covers a message: another account of the provider would send it again. */
function identityOf({ provider, revision }: OpenSender): string {
  return `${provider.name}:${revision}`;
}
