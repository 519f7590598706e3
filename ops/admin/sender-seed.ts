import { generateKeyPairSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Channel } from '../../events/channels/channel-change.ts';
import type { JsonObject } from '../../events/json.ts';
import { generateVapidKeys } from '../../messaging/providers/webpush/vapid-keys.ts';
import { senderPurpose, type StoredSender } from '../../messaging/senders/sender.ts';
import { SenderStore } from '../../messaging/senders/sender-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import type { Sealer } from '../../platform/sealing.ts';
import type { Address } from '../../platform/setting-kinds.ts';

/** Where the sandbox of the local stack listens. */
export interface SandboxAddresses {
  /** For example `http://127.0.0.1:8083`. */
  url: string;
  smtp: Address;
}

interface DemoSender {
  channel: Channel;
  provider: string;
  config: JsonObject;
  /** Made when it is stored. */
  secret: (() => string) | undefined;
}

const TOKEN = () => 'sandbox';

/** The senders of each channel that needs one (the inbox does not). */
function demoSenders({ url, smtp }: SandboxAddresses): DemoSender[] {
  const messenger = (channel: 'bale' | 'eitaa' | 'rubika'): DemoSender => ({
    ...{ channel, provider: channel, config: { url: `${url}/${channel}` }, secret: TOKEN },
  });
  return [
    {
      ...{ channel: 'email', provider: 'smtp', secret: undefined },
      config: {
        ...{ host: smtp.host, port: smtp.port, from: 'فروشگاه روند <news@shop.example>' },
        bounce_domain: 'bounce.shop.example',
      },
    },
    {
      ...{ channel: 'sms', provider: 'kavenegar', secret: TOKEN },
      config: { sender: '10004346', url: `${url}/kavenegar` },
    },
    {
      ...{ channel: 'push', provider: 'fcm', secret: () => serviceAccount(url) },
      config: { project_id: 'demo', url: `${url}/fcm` },
    },
    {
      ...{ channel: 'push', provider: 'apns', secret: signingKey },
      config: { team_id: 'DEMO', key_id: 'SANDBOX', topic: 'example.shop', url: `${url}/apns` },
    },
    {
      ...{ channel: 'web', provider: 'webpush', secret: () => generateVapidKeys().privateKey },
      config: { subject: 'mailto:news@shop.example' },
    },
    messenger('bale'),
    messenger('eitaa'),
    messenger('rubika'),
  ];
}

/**
 * Gives the demo account senders that send to the sandbox. One that somebody changed or switched
 * off stays as it is; one that is as it was made follows the ports of the sandbox, and gets a new
 * secret when no key of SEALING_KEY opens the stored one.
 */
export async function seedSenders({
  database,
  sealer,
  accountId,
  sandbox,
}: {
  database: Pick<Database, 'query'>;
  /** Undefined: only senders without a secret. */
  sealer: Sealer | undefined;
  accountId: number;
  sandbox: SandboxAddresses;
}): Promise<void> {
  const store = new SenderStore(database);
  const stored = await store.list(accountId);
  for (const { secret, ...sender } of demoSenders(sandbox)) {
    const purpose = senderPurpose({ accountId, channel: sender.channel });
    const before = stored.find(({ channel, provider }) =>
      sender.channel === 'push' ? provider === sender.provider : channel === sender.channel,
    );
    const isMine = !before || (before.enabled && isSeeded(before, sender));
    const isCurrent =
      isDeepStrictEqual(before?.config, sender.config) && opens(before, sealer, purpose);
    if (!isMine || isCurrent || (secret && !sealer)) continue;
    const sealed = secret && sealer?.seal(secret(), purpose);
    await store.save({ accountId, actor: 'operator' }, { ...sender, secret: sealed });
  }
}

/** Whether it differs from what is made here in the ports of the sandbox at most. */
function isSeeded(stored: StoredSender, made: Omit<DemoSender, 'secret'>): boolean {
  const withoutPorts = (config: JsonObject) => {
    const { url, port, ...others } = config;
    const isSandbox = others['host'] === '127.0.0.1';
    return {
      ...others,
      ...(typeof url === 'string'
        ? { url: url.replace(/^(http:\/\/127\.0\.0\.1):\d+/, '$1') }
        : {}),
      ...(isSandbox ? {} : { port }),
    };
  };
  return (
    stored.provider === made.provider &&
    isDeepStrictEqual(withoutPorts(stored.config), withoutPorts(made.config))
  );
}

function opens(
  stored: StoredSender | undefined,
  sealer: Sealer | undefined,
  purpose: string,
): boolean {
  if (!stored?.secret || !sealer) return true;
  try {
    sealer.open(stored.secret, purpose);
    return true;
  } catch {
    return false;
  }
}

/** As Apple's .p8 file; the sandbox takes tokens of any key. */
function signingKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** As the console of Firebase writes it; the sandbox takes tokens of any key. */
function serviceAccount(url: string): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return JSON.stringify({
    ...{ type: 'service_account', project_id: 'demo', private_key_id: 'sandbox' },
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'sandbox@demo.iam.gserviceaccount.com',
    token_uri: `${url}/fcm/token`,
  });
}
