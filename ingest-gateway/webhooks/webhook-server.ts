import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  signatureCheck,
  type SignatureCheck,
  type SignatureVerdict,
} from '../../events/webhooks/signature.ts';
import { connectionPurpose, isWebhookSource } from '../../events/webhooks/sources.ts';
import { topicOf } from '../../events/webhooks/topic.ts';
import { addressOfRequest, type TrustedProxies } from '../../platform/network/client-address.ts';
import { networkOf } from '../../platform/network/network-of.ts';
import type { BodyDecider } from '../../ingest/body-decider.ts';
import type { Log } from '../../platform/log.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { discard } from '../http/discard.ts';
import { isEncoded, readBody, type BodyBudget } from '../http/body.ts';
import type { Answer } from '../http/render.ts';
import { send } from '../http/send.ts';
import type { Answered } from '../http/serve-events.ts';
import { traceIn } from '../../platform/http/trace.ts';
import type { DeliveryResult, MappedDelivery } from './accept-delivery.ts';
import {
  SIGNATURE_MISMATCH,
  acceptedAnswer,
  UNAUTHORIZED,
  UNAVAILABLE,
  UNKNOWN_WEBHOOK,
  UNREADABLE_BODY,
  UNVERIFIED,
} from './answers.ts';
import { countsOf, type DeliveryOutcome } from './connection-counters.ts';
import type { Connection, DeliveryCounts } from './connection-store.ts';
import type { Connections } from './connections.ts';
import { RequestsInProgress, type RequestOwner } from '../http/requests-in-progress.ts';
import { OpenedSecrets } from './opened-secrets.ts';

/** The route in the table of the ingest host. */
export const WEBHOOKS_PATH = '/v1/hooks/:source/:token';
/** Bytes of a delivery, as sent and as decoded (ingest 8). */
export const MAX_DELIVERY_BYTES = 1_048_576;

export interface WebhookServerOptions {
  connections: Pick<Connections, 'find' | 'accountOf'>;
  sealer: Pick<Sealer, 'open'>;
  decider: Pick<BodyDecider, 'map'>;
  accept: (delivery: MappedDelivery) => Promise<DeliveryResult>;
  counters: { add: (connectionId: number, counts: DeliveryCounts) => void };
  budget: BodyBudget;
  /**
   * Concurrent deliveries; an account may have a quarter of them, and so may a network whose
   * deliveries look for their connections.
   */
  maxRequests: number;
  trusted: TrustedProxies;
  log: Log;
  now: () => number;
  isClosing: () => boolean;
  onAnswered: Answered;
}

interface Delivery {
  request: IncomingMessage;
  trace: string;
  /** Where its time counts from; later once its body is there. */
  arrival: { at: number };
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Serves POST /v1/hooks/{source}/{token} (ingest 4.6): finds the connection, verifies the signature
 * on the bytes of the body, maps the delivery to events, makes them durable, answers and counts.
 */
export class WebhookServer {
  readonly #options: WebhookServerOptions;
  readonly #secrets: OpenedSecrets;
  readonly #inProgress: RequestsInProgress;
  #active = 0;

  constructor(options: WebhookServerOptions) {
    this.#options = options;
    this.#secrets = new OpenedSecrets(options.sealer);
    this.#inProgress = new RequestsInProgress(Math.ceil(options.maxRequests / 4));
  }

  /** Never rejects. */
  async serve(
    path: { source: string; token: string },
    { request, response }: Exchange,
  ): Promise<void> {
    const { log, maxRequests, isClosing, onAnswered } = this.#options;
    const trace = traceIn(request.headers);
    const delivery = { request, trace, arrival: { at: performance.now() } };
    this.#active++;
    let answer: Answer | undefined;
    try {
      answer = this.#active > maxRequests ? UNAVAILABLE : await this.#answer(path, delivery);
    } catch (error) {
      log.error(
        { err: error, trace, path: WEBHOOKS_PATH, code: 'unexpected' },
        'a delivery failed for an unexpected reason; it was answered 503',
      );
      answer = UNAVAILABLE;
    }
    this.#active--;
    if (answer === undefined) return;
    const took = performance.now() - delivery.arrival.at;
    const canContinue = request.complete || (await discard(request, this.#options.budget.turns));
    send(response, answer, { trace, hasCors: false, isLast: isClosing() || !canContinue });
    onAnswered(WEBHOOKS_PATH, answer.status, took);
  }

  /** Undefined when the platform has left. */
  async #answer(
    { source, token }: { source: string; token: string },
    delivery: Delivery,
  ): Promise<Answer | undefined> {
    const { request } = delivery;
    if (!isWebhookSource(source)) return UNKNOWN_WEBHOOK;
    const { connections, trusted } = this.#options;
    // The look-up is shared: before it is asked, the delivery counts as that of somebody.
    let owner: RequestOwner =
      connections.accountOf(token) ?? networkOf(addressOfRequest(request, trusted));
    if (!this.#inProgress.begin(owner)) return UNAVAILABLE;
    try {
      const connection = await connections.find({ token, active: this.#active });
      if (connection === 'unverified') return UNVERIFIED;
      if (connection === 'unknown' || connection.source !== source || !connection.enabled)
        return UNKNOWN_WEBHOOK;
      const { accountId } = connection;
      if (owner !== accountId) {
        if (!this.#inProgress.begin(accountId)) return UNAVAILABLE;
        this.#inProgress.end(owner);
        owner = accountId;
      }
      return await this.#read(connection, delivery);
    } finally {
      this.#inProgress.end(owner);
    }
  }

  async #read(connection: Connection, delivery: Delivery): Promise<Answer | undefined> {
    const { budget } = this.#options;
    const { request, trace } = delivery;
    const { accountId, source } = connection;
    const secret = this.#secretOf(connection, trace);
    if (secret === 'sealed') return UNVERIFIED;
    const check = signatureCheck({ source, headers: request.headers, secret: secret?.text });
    // A delivery that its head refuses holds no memory, and nothing of it is hashed or decoded.
    if (check.atHead !== undefined && check.atHead !== 'genuine' && isReadable(request))
      return this.#refuse(connection, check.atHead);
    const waited = performance.now() - delivery.arrival.at;
    const raw = await readBody(request, {
      ...{ limit: MAX_DELIVERY_BYTES, budget, accountId, onPiece: check.add },
    });
    // The look-up of the connection counts, the platform's upload does not.
    delivery.arrival.at = performance.now() - waited;
    switch (raw) {
      case 'client_gone':
        return undefined;
      case 'overloaded':
        return UNAVAILABLE;
      case 'too_large':
      case 'undecodable':
        this.#count(connection, { kind: 'refused', reason: 'unreadable body' });
        return UNREADABLE_BODY;
      default:
        try {
          return await this.#accept(connection, raw, { request, trace, check });
        } finally {
          budget.release(accountId, raw.length);
        }
    }
  }

  async #accept(
    connection: Connection,
    raw: Buffer,
    { request, trace, check }: { request: IncomingMessage; trace: string; check: SignatureCheck },
  ): Promise<Answer> {
    const { headers } = request;
    const { source, accountId, appId } = connection;
    const verdict = check.verdict();
    if (verdict !== 'genuine') return this.#refuse(connection, verdict);
    const mapping = await this.#options.decider.map({ source, headers, body: raw }, accountId);
    if (!mapping) return UNAVAILABLE;
    if (mapping.outcome === 'skip') {
      this.#count(connection, { kind: 'skipped', reason: mapping.reason });
      return acceptedAnswer(0);
    }
    const result = await this.#options.accept({
      ...{ accountId, appId, trace, receivedAt: this.#options.now() },
      path: `/v1/hooks/${source}`,
      events: mapping.outcome === 'bodies' ? mapping : mapping.events,
      delivery: { source, topic: topicOf(source, headers), body: raw },
    });
    if (result.outcome === 'unavailable') return UNAVAILABLE;
    const { published, duplicates, reason } = result;
    const isAccepted = published + duplicates > 0 || reason === undefined;
    this.#count(
      connection,
      isAccepted ? { kind: 'accepted', events: published } : { kind: 'skipped', reason },
    );
    return acceptedAnswer(published);
  }

  #refuse(connection: Connection, verdict: Exclude<SignatureVerdict, 'genuine'>): Answer {
    const isUnauthorized = verdict === 'unauthorized';
    const reason = isUnauthorized ? verdict : 'bad signature';
    this.#count(connection, { kind: 'refused', reason });
    return isUnauthorized ? UNAUTHORIZED : SIGNATURE_MISMATCH;
  }

  /** Undefined without a secret; `sealed` when it cannot be opened, which is our fault. */
  #secretOf(connection: Connection, trace: string): { text: string } | undefined | 'sealed' {
    if (connection.sealed === null) return undefined;
    try {
      return { text: this.#secrets.open(connection.sealed, connectionPurpose(connection)) };
    } catch (error) {
      const facts = {
        err: error,
        trace,
        account: connection.accountId,
        connection: connection.id,
        code: 'secret_unreadable',
      };
      this.#options.log.error(
        facts,
        'the secret of a webhook connection cannot be opened: add the key that sealed it to SEALING_KEY',
      );
      return 'sealed';
    }
  }

  #count(connection: Connection, outcome: DeliveryOutcome): void {
    this.#options.counters.add(connection.id, countsOf(outcome));
  }
}

/** False: the head alone shows that the body is unreadable, which is answered 400 (ingest 4.6). */
function isReadable({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return !isEncoded(headers) && length !== undefined && Number(length) <= MAX_DELIVERY_BYTES;
}
