/** The records of a larger request are bulk. A request has one record for each partition. */
export const BULK_RECORDS = 16;
/** Partitions in which one account has bulk records in flight at once. */
export const MAX_PARTITIONS = 4;

/** A partition, by its identity. */
interface SharedFlow {
  /** Defined while it cannot be written. */
  readonly side: object | undefined;
}

/** The bulk records of an account that are in flight, by partition. */
export interface AccountBulk {
  readonly accountId: number;
  /** Requests that are not complete. */
  requests: number;
  readonly inFlight: Map<SharedFlow, { records: number }>;
}

/**
 * How many partitions the bulk records of an account occupy. Kafka's client sends one partition a
 * request, and few requests at once: a batch of 500 people occupies every partition of the topic,
 * and the next record of everybody else would wait behind all of them.
 */
export class BulkShare {
  readonly #accounts = new Map<number, AccountBulk>();
  /** Called with an account that has one partition less in flight. */
  onFreed: (accountId: number) => void = () => undefined;

  /** A bulk request begins. */
  begin(accountId: number): AccountBulk {
    let bulk = this.#accounts.get(accountId);
    if (!bulk) {
      bulk = { accountId, requests: 0, inFlight: new Map() };
      this.#accounts.set(accountId, bulk);
    }
    bulk.requests++;
    return bulk;
  }

  /** The request is complete. */
  end(bulk: AccountBulk): void {
    if (--bulk.requests === 0) this.#accounts.delete(bulk.accountId);
  }

  /** A record is in flight. */
  sent({ inFlight }: AccountBulk, flow: SharedFlow): void {
    const known = inFlight.get(flow);
    if (known) known.records++;
    else inFlight.set(flow, { records: 1 });
  }

  /** It is in flight no more. */
  left({ accountId, inFlight }: AccountBulk, flow: SharedFlow): void {
    const known = inFlight.get(flow);
    if (!known || --known.records > 0) return;
    inFlight.delete(flow);
    this.onFreed(accountId);
  }
}

/** True when a record may be sent now, as far as the share of its account is concerned. */
export function isAdmitted(bulk: AccountBulk | undefined, flow: SharedFlow): boolean {
  if (!bulk) return true;
  const { inFlight } = bulk;
  // A partition that cannot be written sends nothing.
  return inFlight.size < MAX_PARTITIONS || inFlight.has(flow) || flow.side !== undefined;
}
