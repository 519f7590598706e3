/** An entry in flight, as far as the share is concerned. */
interface SharedEntry {
  readonly record: { readonly accountId: number };
  readonly waiter: { readonly isBulk: boolean };
}

/** A partition, by its identity. */
interface SharedFlow {
  /** Defined while it cannot be written. */
  readonly side: object | undefined;
}

/** The records of a larger request are bulk. */
export const BULK_RECORDS = 16;
/** Partitions in which one account has bulk records in flight at once. */
export const MAX_PARTITIONS = 4;

/**
 * How many partitions the bulk records of an account occupy. Kafka's client sends one partition a
 * request, and few requests at once: a batch of 500 people would occupy every partition, and the
 * next record of everybody else would wait behind all of them.
 */
export class BulkShare {
  /** Bulk records in flight by account and partition. */
  readonly #accounts = new Map<number, Map<SharedFlow, number>>();
  /** Called with an account that has one partition less in flight. */
  onFreed: (accountId: number) => void = () => undefined;

  /** True when the entry may be sent now, as far as the share of its account is concerned. */
  admits({ record, waiter }: SharedEntry, flow: SharedFlow): boolean {
    // A partition that cannot be written sends nothing.
    if (!waiter.isBulk || flow.side) return true;
    const own = this.#accounts.get(record.accountId);
    return own === undefined || own.size < MAX_PARTITIONS || own.has(flow);
  }

  sent({ record, waiter }: SharedEntry, flow: SharedFlow): void {
    if (!waiter.isBulk) return;
    const own = this.#accounts.get(record.accountId) ?? new Map<SharedFlow, number>();
    own.set(flow, (own.get(flow) ?? 0) + 1);
    this.#accounts.set(record.accountId, own);
  }

  left({ record, waiter }: SharedEntry, flow: SharedFlow): void {
    if (!waiter.isBulk) return;
    const { accountId } = record;
    const own = this.#accounts.get(accountId);
    const count = own?.get(flow);
    if (!own || count === undefined) return;
    if (count > 1) return void own.set(flow, count - 1);
    own.delete(flow);
    if (own.size === 0) this.#accounts.delete(accountId);
    this.onFreed(accountId);
  }
}
