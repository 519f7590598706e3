import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Channel } from '../../events/channels/channel-change.ts';
import { AddressRules } from '../../platform/outbound/address-rules.ts';
import { AllowedHosts } from '../../platform/outbound/allowed-hosts.ts';
import { atEnd, closeAll, listen } from '../../platform/outbound/receivers.ts';
import type { Resolve } from '../../platform/outbound/resolve.ts';
import type { Target } from './provider.ts';
import { openProvider, PROVIDERS } from './registry.ts';
import { messageTo, providerDeps } from './testing/provider-deps.ts';
import { APNS, FCM, NEVER, serviceAccount, WEB_PUSH } from './testing/push-services.ts';

afterEach(closeAll);

/** How an account points a provider, or a visitor a browser's endpoint, at a host and a port. */
const AT: Readonly<
  Record<
    string,
    {
      channel: Channel;
      secret?: string;
      config: (host: string, port: number) => object;
      target: (base: string) => Target;
    }
  >
> = {
  smtp: {
    channel: 'email',
    config: (host, port) => ({ host, port, from: 'a@shop.example', secure: false }),
    target: () => ({ kind: 'email', address: 'x@y.example' }),
  },
  smpp: {
    channel: 'sms',
    config: (host, port) => ({ host, port, system_id: 'shop', source: '1000' }),
    target: () => ({ kind: 'phone', number: '+989120000000' }),
  },
  kavenegar: {
    channel: 'sms',
    config: (host, port) => ({ sender: '1000', url: `http://${host}:${port}` }),
    target: () => ({ kind: 'phone', number: '+989120000000' }),
  },
  ...Object.fromEntries(
    (['bale', 'eitaa', 'rubika'] as const).map((channel) => [
      channel,
      {
        channel,
        config: (host: string, port: number) => ({ url: `http://${host}:${port}` }),
        target: (): Target => ({ kind: 'chat', chatId: '1' }),
      },
    ]),
  ),
  ...Object.fromEntries(
    [FCM, APNS, WEB_PUSH].map((service) => [
      service.name,
      {
        channel: service.channel,
        secret: service.secret,
        config: (host: string, port: number) => service.config(`https://${host}:${port}`),
        target: (base: string) => service.target(base),
      },
    ]),
  ),
};

/** As the name server of an attacker answers. */
const ANSWERS: Readonly<Record<string, readonly string[]>> = {
  'inside.example': ['127.0.0.1'],
  'mixed.example': ['127.0.0.1', '10.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  localhost: ['127.0.0.1'],
};
const resolve: Resolve = (host) =>
  Promise.resolve(
    (ANSWERS[host] ?? [host]).map((address) => ({
      ...{ address, family: address.includes(':') ? 6 : 4 },
    })),
  );
const HOSTS = [
  ...Object.keys(ANSWERS),
  ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0.0.0.0'],
  ...['[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', 'LOCALHOST', '127.0.0.1.'],
];

test('there is a row for each provider that calls a server', () => {
  expect(Object.keys(AT).sort()).toEqual(
    Object.keys(PROVIDERS)
      .filter((name) => name !== 'inapp')
      .sort(),
  );
});

test.each(Object.keys(AT).flatMap((name) => HOSTS.map((host) => [name, host] as const)))(
  '%s sends nothing to %s, however it is written and whatever DNS says',
  async (name, host) => {
    const at = AT[name];
    if (!at) throw new Error('no such provider');
    let connections = 0;
    const port = await listen(
      createServer((socket) => {
        connections++;
        socket.destroy();
      }),
    );
    const base = `https://${host}:${port}`;
    const guard = {
      ...{ allowed: new AllowedHosts([]), rules: new AddressRules({ ports: 'any' }), resolve },
    };
    // The account chooses where the tokens of FCM come from, too.
    const account = { ...(JSON.parse(serviceAccount(port)) as object), token_uri: `${base}/token` };
    const secret = name === 'fcm' ? JSON.stringify(account) : (at.secret ?? 'secret');
    const answer = await attempt(() => {
      const provider = openProvider({
        ...{ channel: at.channel, provider: name, config: at.config(host, port), accountId: 1 },
        ...{ secret, deps: { ...providerDeps(), guard } },
      });
      atEnd(() => void provider.close());
      return provider.send(messageTo(at.target(base)), { signal: NEVER });
    });
    expect(connections).toBe(0);
    expect(['broken', 'retry', 'rejected', 'dead_address', 'refused']).toContain(answer);
  },
);

/** The kind of the answer; `refused`: the configuration is. */
async function attempt(send: () => Promise<{ kind: string }>): Promise<string> {
  try {
    return (await send()).kind;
  } catch {
    return 'refused';
  }
}
