import { createHmac } from 'node:crypto';
import type { ErasureCut } from '../../schemas/records.ts';

/** The part of an erasure that readers of the log obey. */
export interface Erasure {
  id: number;
  accountId: number;
  keyId: number;
  /** `idHash` of each distinct id, hexadecimal. */
  names: readonly string[];
  /** `addressHash` of each address that only the person had, hexadecimal. */
  addresses: readonly string[];
  /** ms since the epoch */
  requestedAt: number;
  /** Messages that were planned until then are erased, ms; undefined: all so far. */
  messagesUntil?: number | undefined;
  cuts: readonly ErasureCut[];
}

/** A place of events.raw: the event of a record, or the record itself. */
export interface RawPlace {
  epoch: number;
  partition: number;
  offset: number;
}

/** HMAC-SHA-256 of a distinct id of an account: what an erasure keeps of a name. */
export function idHash(key: Buffer, accountId: number, name: string): Buffer {
  return createHmac('sha256', key).update(`${accountId}\0${name}`).digest();
}

/** HMAC-SHA-256 of an address of an account: what an erasure keeps of one. */
export function addressHash(
  key: Buffer,
  { accountId, channel, address }: { accountId: number; channel: string; address: string },
): Buffer {
  return createHmac('sha256', key).update(`${accountId}\0${channel}\0${address}`).digest();
}

type Place = Omit<RawPlace, 'partition'>;

function isBefore(place: Place, cut: Place): boolean {
  return (place.epoch - cut.epoch || place.offset - cut.offset) < 0;
}

const NONE: readonly Erasure[] = [];
/** Distinct ids whose hash is remembered. */
const MAX_KNOWN = 20_000;

/**
 * Whose events are erased, and up to where. Names are hashed only for accounts with erasures, and
 * for places before a cut: what is new costs two comparisons.
 */
export class ErasedPeople {
  /** By partition, the highest cut. */
  readonly #highest = new Map<number, Place>();
  /** By account and key id, the erasures of a hashed distinct id. */
  readonly #byAccount = new Map<number, Map<number, Map<string, Erasure[]>>>();
  /** By account and hash of an address, its erasures. */
  readonly #byAddress = new Map<number, Map<string, Erasure[]>>();
  readonly #keys: ReadonlyMap<number, Buffer>;
  /** Results for the distinct ids of a range that is read again. */
  readonly #known = new Map<string, readonly Erasure[]>();

  /** Throws when the key of an erasure is missing: nothing may be read without it. */
  constructor(erasures: readonly Erasure[], keys: ReadonlyMap<number, Buffer>) {
    this.#keys = keys;
    for (const erasure of erasures) {
      const { id, accountId, keyId, names, addresses, cuts } = erasure;
      if (!keys.has(keyId))
        throw new Error(`the key ${keyId} of erasure ${id} is missing in erasure_keys: restore it`);
      const byKey = getOrAdd(
        this.#byAccount,
        accountId,
        () => new Map<number, Map<string, Erasure[]>>(),
      );
      const byName = getOrAdd(byKey, keyId, () => new Map<string, Erasure[]>());
      for (const name of names) getOrAdd(byName, name, () => []).push(erasure);
      const byAddress = getOrAdd(this.#byAddress, accountId, () => new Map<string, Erasure[]>());
      for (const address of addresses) getOrAdd(byAddress, address, () => []).push(erasure);
      for (const cut of cuts) {
        const highest = this.#highest.get(cut.partition);
        if (!highest || isBefore(highest, cut)) this.#highest.set(cut.partition, cut);
      }
    }
  }

  get isEmpty(): boolean {
    return this.#byAccount.size === 0;
  }

  hasAccount(accountId: number): boolean {
    return this.#byAccount.has(accountId);
  }

  accounts(): number[] {
    return [...this.#byAccount.keys()];
  }

  /** Whether an event at the place may be erased; false for everything after the last cut. */
  mayCover({ partition, epoch, offset }: RawPlace): boolean {
    const cut = this.#highest.get(partition);
    return cut !== undefined && isBefore({ epoch, offset }, cut);
  }

  /** Whether the event of this distinct id at one of the places is erased. */
  covers(event: { accountId: number; distinctId: string; places: readonly RawPlace[] }): boolean {
    const { accountId, distinctId, places } = event;
    if (!this.#byAccount.has(accountId) || !places.some((place) => this.mayCover(place)))
      return false;
    return this.#erasuresOf(accountId, distinctId).some(({ cuts }) =>
      cuts.some((cut) =>
        places.some((place) => place.partition === cut.partition && isBefore(place, cut)),
      ),
    );
  }

  /** Whether something about the name that is this old is erased; ms since the epoch. */
  coversName({ accountId, name, at }: { accountId: number; name: string; at: number }): boolean {
    return this.#erasuresOf(accountId, name).some(({ requestedAt }) => at <= requestedAt);
  }

  /** Whether a message that was planned for the name then is erased; ms since the epoch. */
  coversMessage({ accountId, name, at }: { accountId: number; name: string; at: number }): boolean {
    return this.#erasuresOf(accountId, name).some(
      ({ messagesUntil = Number.POSITIVE_INFINITY }) => at <= messagesUntil,
    );
  }

  /** Whether something about an address that only the person had, and is this old, is erased. */
  coversAddress(of: { accountId: number; channel: string; address: string; at: number }): boolean {
    const own = this.#byAddress.get(of.accountId);
    if (!own || own.size === 0) return false;
    return [...this.#keys].some(([keyId, key]) =>
      own
        .get(addressHash(key, of).toString('hex'))
        ?.some((erasure) => erasure.keyId === keyId && of.at <= erasure.requestedAt),
    );
  }

  #erasuresOf(accountId: number, name: string): readonly Erasure[] {
    const byKey = this.#byAccount.get(accountId);
    if (!byKey || name === '') return NONE;
    const key = `${accountId}\0${name}`;
    let found = this.#known.get(key);
    if (found) return found;
    found = this.#find(byKey, accountId, name);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(key, found);
    return found;
  }

  #find(
    byKey: ReadonlyMap<number, ReadonlyMap<string, readonly Erasure[]>>,
    accountId: number,
    name: string,
  ): readonly Erasure[] {
    return [...byKey].flatMap(([keyId, byName]) => {
      const key = this.#keys.get(keyId);
      return (key && byName.get(idHash(key, accountId, name).toString('hex'))) ?? [];
    });
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
