import type { Entry } from '../entry.ts';
import { postTo } from '../request.ts';
import type { Inbox, InboxPage, InboxProof } from '../types.ts';

export function open(entry: Entry, proof: () => InboxProof | Promise<InboxProof>): Inbox {
  const ask = async (more: object): Promise<InboxPage> => {
    const user_id = entry.userId();
    if (!user_id) throw new Error('the inbox is read after identify(userId)');
    const body = { user_id, ...(await proof()), ...more };
    const { status, answer } = await postTo(entry, '/v1/inbox', body);
    if (status !== 200)
      throw new Error(`the host answered ${status} ${answer.error ?? answer.message ?? ''}`);
    return answer as unknown as InboxPage;
  };
  return {
    list: (page = {}) => ask(page),
    markRead: (ids) => ask({ read: ids }),
    markAllRead: () => ask({ read_all: true }),
  };
}
