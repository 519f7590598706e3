import { keyDigest, presentedKey } from '../auth/write-keys.ts';
import type { EventRoute } from '../http/routes.ts';
import { parseHead, type Head } from './parse-head.ts';

/** A longer head is parsed each time. */
const MAX_KEPT_HEAD_BYTES = 2048;

/** A head with the route and the key that it names. */
export interface KnownHead {
  head: Head;
  route: EventRoute;
  key: string | undefined;
  /** Of the key. */
  digest: string | undefined;
  bytes: Buffer;
}

/** The heads of one connection. Clients repeat the same one, so the last one is kept. */
export class KnownHeads {
  readonly #routes: ReadonlyMap<string, EventRoute>;
  #last: KnownHead | undefined;

  constructor(routes: ReadonlyMap<string, EventRoute>) {
    this.#routes = routes;
  }

  /** The head at the start of the chunk; undefined when it is not common. */
  at(chunk: Buffer): KnownHead | undefined {
    const last = this.#last;
    if (
      last &&
      chunk.length >= last.bytes.length &&
      last.bytes.compare(chunk, 0, last.bytes.length) === 0
    )
      return last;
    const head = parseHead(chunk);
    const route = head && this.#routes.get(head.path);
    if (!route) return undefined;
    const key = presentedKey(
      { authorization: head.authorization, 'x-service-key': head.serviceKey },
      head.query,
    );
    // A copy: a slice would retain the memory of the whole chunk.
    const digest = key === undefined ? undefined : keyDigest(key);
    const known = { head, route, key, digest, bytes: Buffer.from(chunk.subarray(0, head.bytes)) };
    this.#last = head.bytes <= MAX_KEPT_HEAD_BYTES ? known : undefined;
    return known;
  }
}
