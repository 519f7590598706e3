import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TrackingTokens, type TrackedMessage } from '../../../events/channels/tracking-token.ts';
import type { ChannelChange } from '../../../events/channels/channel-change.ts';
import { createLog } from '../../../platform/log.ts';
import { BodyBudget } from '../../http/body.ts';
import type { Recipient } from '../recipients.ts';
import { TrackedServer, type TrackedRoute } from '../tracked-server.ts';

/** The message that the tokens of tests name. */
export const MESSAGE: TrackedMessage = { accountId: 7, ref: Buffer.alloc(12, 1) };
export const tokens = new TrackingTokens([{ id: 1, bytes: Buffer.alloc(32, 1) }]);

export function recipient(changes: Partial<Recipient> = {}): Recipient {
  return {
    ...{ userId: 'u-1', channel: 'email', address: 'sara@example.ir' },
    ...{ campaignId: 5, messageId: 'c5.1.abc', accountName: 'فروشگاه نمونه' },
    consents: new Map([
      ['email', 'subscribed'],
      ['sms', 'unsubscribed'],
    ]),
    ...changes,
  };
}

/** The ports of the routes as a test sets them, and what the routes did with them. */
export class FakePorts {
  readonly budget = new BodyBudget(1 << 22);
  readonly tokens = tokens;
  /** `unreachable`: the look-up rejects. */
  found: Recipient | undefined | 'unreachable' = recipient();
  /** The next changes are durable while it is above 0. */
  durable = Infinity;
  readonly recorded: { change: ChannelChange; source: string }[] = [];
  lookups = 0;
  unreachable = 0;

  readonly recipientOf = (message: TrackedMessage): Promise<Recipient | undefined> => {
    this.lookups++;
    if (this.found === 'unreachable') return Promise.reject(new Error('down'));
    return Promise.resolve(message.ref.equals(MESSAGE.ref) ? this.found : undefined);
  };
  readonly record = (change: ChannelChange, facts: { source: string }): Promise<boolean> => {
    if (this.durable <= 0) return Promise.resolve(false);
    this.durable--;
    this.recorded.push({ change, source: facts.source });
    return Promise.resolve(true);
  };
  readonly onUnreachable = (): void => {
    this.unreachable++;
  };
}

/** Serves routes on a port of their own. */
export async function serveRoutes(
  routes: readonly TrackedRoute[],
  { maxRequests = 100 }: { maxRequests?: number } = {},
): Promise<{ origin: string; answered: [string, number][]; close: () => void }> {
  const answered: [string, number][] = [];
  const tracked = new TrackedServer({
    ...{ tokens, maxRequests, trusted: undefined, now: () => 1000, isClosing: () => false },
    turns: new BodyBudget(1 << 20).turns,
    log: createLog({ part: 'test', level: 'silent' }),
    onAnswered: (path, status) => answered.push([path, status]),
  });
  const served = tracked.routes(routes);
  const server = createServer((request, response) => {
    const [path = '', token = ''] = splitPath(request);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = served.find((one) => one.method === method && one.path.startsWith(`${path}/:`));
    if (route) void route.serve({ token }, { request, response });
    else response.writeHead(501).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answered,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function splitPath({ url = '' }: IncomingMessage): string[] {
  const [path = ''] = url.split('?');
  const at = path.lastIndexOf('/');
  return [path.slice(0, at), decodeURIComponent(path.slice(at + 1))];
}
