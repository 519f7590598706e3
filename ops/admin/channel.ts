import { RefusedChange } from '../../events/channels/fields.ts';
import { PROVIDERS } from '../../messaging/providers/registry.ts';
import { generateVapidKeys, vapidPublicKey } from '../../messaging/providers/webpush/vapid-keys.ts';
import { checkSender, requireChannel } from '../../messaging/senders/check-sender.ts';
import { senderPurpose, type StoredSender } from '../../messaging/senders/sender.ts';
import { senderKey, SenderStore } from '../../messaging/senders/sender-store.ts';
import { outboundGuard, outboundSettings } from '../../platform/outbound/outbound-settings.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { sealingSettings } from '../../platform/sealing-settings.ts';
import { parseSettings } from '../../platform/settings.ts';
import { OPTIONAL, REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, requireAccount, type AdminContext } from './command.ts';
import { readSecret } from './sender-secret.ts';

/** `./ravand admin channel set`: by what an account sends on a channel, from the next second on. */
export const channelSet = adminCommand({
  name: 'channel set',
  usage: 'channel set --account ID --channel C --provider P --config JSON [--secret-file FILE|-]',
  options: {
    ...{ account: REQUIRED, channel: REQUIRED, provider: REQUIRED, config: REQUIRED },
    'secret-file': OPTIONAL,
  },
  async run(line, context) {
    const { channel, provider, config } = line.values;
    const accountId = idOption(line.values, 'account');
    await requireAccount(context.database, accountId);
    const secret = await readSecret(line.values['secret-file'], process.stdin);
    return await setSender(
      { accountId, channel, provider, config: parseConfig(config), secret },
      context,
    );
  },
});

/** `./ravand admin channel list`: the senders of an account, without their secrets. */
export const channelList = adminCommand({
  name: 'channel list',
  usage: 'channel list --account ID',
  options: { account: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    await requireAccount(database, accountId);
    const senders = await new SenderStore(database).list(accountId);
    return {
      channels: senders.map(({ channel, provider, config, enabled, broken }) => ({
        ...{ channel, provider, config, enabled },
        broken: broken ? { reason: broken.reason, since: new Date(broken.at).toISOString() } : null,
      })),
    };
  },
});

/** Nothing is sent on a channel that is disabled: recipients are skipped. */
const switching = (verb: 'enable' | 'disable') =>
  adminCommand({
    name: `channel ${verb}`,
    usage: `channel ${verb} --account ID --channel C [--provider P]`,
    options: { account: REQUIRED, channel: REQUIRED, provider: OPTIONAL },
    async run(line, { database }) {
      const accountId = idOption(line.values, 'account');
      const channel = sentencesOf(() => requireChannel(line.values.channel));
      const author = { accountId, actor: 'operator' };
      const enabled = verb === 'enable';
      const { provider } = line.values;
      const of = { channel, provider, enabled };
      const changed = await new SenderStore(database).setEnabled(author, of);
      if (changed.length === 0)
        throw new CommandError(
          `the account ${accountId} has no ${provider === undefined ? '' : `provider ${provider} on the `}channel ${channel}`,
        );
      return { channel, provider: changed.map((one) => one.provider).join(', '), enabled };
    },
  });
export const channelEnable = switching('enable');
export const channelDisable = switching('disable');

interface SenderOptions {
  accountId: number;
  channel: string;
  provider: string;
  config: unknown;
  secret: string | undefined;
}

/** Checks and stores a sender. Throws CommandError. */
export async function setSender(
  { accountId, ...request }: SenderOptions,
  { database, env }: Pick<AdminContext, 'database' | 'env'>,
): Promise<Record<string, unknown>> {
  const { SEALING_KEY: sealer } = parseSettings(sealingSettings, env);
  const guard = outboundGuard(parseSettings(outboundSettings, env));
  const store = new SenderStore(database);
  const channel = sentencesOf(() => requireChannel(request.channel));
  const key = senderKey(accountId, channel);
  const senders = (await store.find([key])).get(key);
  const former = senders?.find(({ provider }) => provider === request.provider);
  const hasSecret = former?.secret !== undefined;
  const secret = request.secret ?? newSecret(request.provider, hasSecret);
  const checked = sentencesOf(() =>
    checkSender({ ...request, secret }, { providers: PROVIDERS, guard, hasSecret }),
  );
  const publicKey = checked.provider === 'webpush' && publicKeyOf(secret, { former, sealer });
  const sealed =
    secret === undefined
      ? undefined
      : requireSealer(sealer).seal(secret, senderPurpose({ accountId, channel }));
  const author = { accountId, actor: 'operator' };
  const saved = await store.save(author, { ...checked, secret: sealed });
  return { ...shownSender(saved), ...(publicKey === false ? {} : { public_key: publicKey }) };
}

/** Web push keys are made here, so that the private one is nowhere else. */
function newSecret(provider: string, hasSecret: boolean): string | undefined {
  return provider === 'webpush' && !hasSecret ? generateVapidKeys().privateKey : undefined;
}

/** What browsers subscribe with. */
function publicKeyOf(
  secret: string | undefined,
  { former, sealer }: { former: StoredSender | undefined; sealer: Sealer | undefined },
): string {
  if (secret !== undefined) return sentencesOf(() => vapidPublicKey(secret));
  if (!former?.secret) throw new CommandError('webpush needs a secret');
  return vapidPublicKey(requireSealer(sealer).open(former.secret, senderPurpose(former)));
}

function requireSealer(sealer: Sealer | undefined): Sealer {
  if (sealer) return sealer;
  throw new CommandError(
    'SEALING_KEY is empty, and secrets are stored sealed: set it to the value that the services have',
  );
}

function shownSender({ channel, provider, enabled }: StoredSender) {
  return { channel, provider, enabled };
}

/** Never quotes the text: somebody may have put a secret into it. */
function parseConfig(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CommandError(`--config is not JSON: give an object such as '{"sender":"10004"}'`);
  }
}

function sentencesOf<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof RefusedChange) throw new CommandError(error.message);
    if (error instanceof Error) throw new CommandError(error.message);
    throw error;
  }
}
