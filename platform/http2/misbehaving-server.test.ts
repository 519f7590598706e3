import type { Http2Session } from 'node:http2';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { closeAll } from '../outbound/receivers.ts';
import { poolTo, post, request } from './testing/pool.ts';
import { http2Receiver, respond, type ReceivedPost } from './testing/receivers.ts';

afterEach(closeAll);

/** What the server does with a request; it answers most of them. */
const BEHAVIOURS = ['refuse', 'reset', 'drain', 'close', 'cut', ...Array<string>(40).fill('ok')];

interface SessionState {
  /** The last stream that was processed. */
  processed: number;
  /** Streams above it are ignored, as a GOAWAY said. */
  last: number;
}

/** A server that follows the protocol and processes requests as `behaviours` say, in turn. */
async function misbehavingServer(behaviours: readonly string[]) {
  const processed = new Map<string, number>();
  const states = new WeakMap<Http2Session, SessionState>();
  const { port } = await http2Receiver(
    (one: ReceivedPost, count) => {
      const { stream, path } = one;
      const { session, id = 0 } = stream;
      if (!session || session.destroyed || stream.destroyed) return;
      const state = states.get(session) ?? { processed: 0, last: Infinity };
      states.set(session, state);
      if (id > state.last) return;
      const process = () => {
        state.processed = Math.max(state.processed, id);
        processed.set(path, (processed.get(path) ?? 0) + 1);
      };
      switch (behaviours[count % behaviours.length]) {
        case 'refuse':
          return stream.close(7);
        case 'drain':
          // node:http2 takes 0 for "the last one that was received".
          if (id < state.processed || state.processed === 0) return stream.close(7);
          state.last = state.processed;
          return session.goaway(0, state.last);
        case 'reset':
          process();
          return stream.close(8);
        case 'close':
          process();
          return session.destroy();
        case 'cut':
          process();
          session.socket.destroy();
          return;
        default:
          process();
          return respond(one);
      }
    },
    { settings: { maxConcurrentStreams: 50 } },
  );
  return { port, processed };
}

test('whatever a server does, no request is processed twice, and one that is not sent is not processed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...BEHAVIOURS), { minLength: 5, maxLength: 100 }),
      async (behaviours) => {
        const { port, processed } = await misbehavingServer(behaviours);
        const pool = poolTo(port, { maxSessions: 3 });
        const paths = Array.from({ length: 300 }, (_, at) => `/${at}`);
        const results = await Promise.all(
          paths.map((path) => post(pool, request(path), { timeoutMs: 1000 })),
        );
        const times = (at: number) => processed.get(`/${at}`) ?? 0;
        const wrong = results.flatMap(({ kind }, at) => {
          const isRight =
            kind === 'answered' ? times(at) === 1 : times(at) <= (kind === 'lost' ? 1 : 0);
          return isRight ? [] : [`/${at} is ${kind}, and was processed ${times(at)} times`];
        });
        closeAll();
        expect(wrong).toEqual([]);
      },
    ),
    { numRuns: 25 },
  );
});
