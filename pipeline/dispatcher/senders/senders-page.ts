import type { AdminPages } from '../../../platform/admin-server.ts';
import type { ChannelGate } from './sender-gates.ts';

/**
 * `/senders?account=ID&channel=C` of the admin port: `{sender: {phase, openCalls}}` as this process
 * sees it, for `./ravand why`; without `sender` when it does not send the channel.
 */
export function sendersPage(channels: () => Iterable<ChannelGate>): AdminPages {
  return {
    '/senders': (query) => {
      const [account, channel] = [Number(query.get('account')), query.get('channel')];
      const found = [...channels()].find(
        (one) => one.accountId === account && one.channel === channel,
      );
      const sender = found && { phase: found.gate.phase, openCalls: found.gate.openCalls };
      return Promise.resolve({
        contentType: 'application/json',
        body: JSON.stringify({ sender }),
      });
    },
  };
}
