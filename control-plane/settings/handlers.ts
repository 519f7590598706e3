import { isJsonObject } from '../../events/json.ts';
import {
  isSettingName,
  settingProblem,
  type SettingTexts,
} from '../../messaging/settings/setting-texts.ts';
import { changeSettings, readSettingTexts } from '../../messaging/settings/settings-store.ts';
import { answer, refuse, type Answer } from '../errors.ts';
import { orUnavailable } from '../routes/or-unavailable.ts';
import type { MemberRequest, Services } from '../routes/route.ts';
import { actorOf } from '../sessions/authenticate.ts';

interface SenderRow {
  channel: string;
  provider: string;
  enabled: boolean;
  /** Why nothing can be sent until somebody acts; empty: it works. */
  broken_reason: string;
  updated_at: Date;
}

/**
 * GET /v1/settings: what the account decided about its messages, as texts (docs/messages.md), and
 * by which providers they are sent; never their secrets.
 */
export async function getSettings(request: MemberRequest, services: Services): Promise<Answer> {
  const { database } = services;
  const { account } = request.caller;
  return await orUnavailable({ request, services, code: 'settings_store' }, async () => {
    const texts = await readSettingTexts(database, account.id);
    const { rows } = await database.query<SenderRow>(
      'SELECT channel, provider, enabled, broken_reason, updated_at FROM message_senders WHERE account_id = $1 ORDER BY channel, provider',
      [account.id],
    );
    const senders = rows.map(({ updated_at, ...sender }) => ({
      ...sender,
      updated_at: updated_at.toISOString(),
    }));
    return answer({ messages: texts, senders, ip_allow: account.ipAllow });
  });
}

/** PUT /v1/settings/messages: changes the named settings; an empty text is the default. */
export async function changeMessageSettings(
  request: MemberRequest,
  services: Services,
): Promise<Answer> {
  const changes = readChanges(request.body);
  if (typeof changes === 'string') return refuse('invalid_request', { message: changes });
  const { accountId, memberId } = actorOf(request.caller);
  return await orUnavailable({ request, services, code: 'settings_store' }, async () =>
    answer({
      messages: await changeSettings(
        services.database,
        { accountId, actor: `member:${memberId}` },
        changes,
      ),
    }),
  );
}

/** The settings of a body, or a sentence about what is wrong with the first wrong one. */
export function readChanges(body: unknown): SettingTexts | string {
  if (!isJsonObject(body)) return 'the body must be a JSON object of texts';
  const changes: Record<string, string> = {};
  for (const [name, sent] of Object.entries(body)) {
    if (!isSettingName(name)) return `there is no setting ${name.slice(0, 100)}`;
    if (typeof sent !== 'string') return `${name} must be a text`;
    const problem = settingProblem(name, sent.trim());
    if (problem !== undefined) return problem;
    changes[name] = sent.trim();
  }
  return changes;
}
