import { isShortLinkTarget, MAX_TARGET_BYTES, shortLinkCode } from '../../events/short-link.ts';
import { recordAudit } from '../../platform/audit.ts';
import * as setting from '../../platform/setting-kinds.ts';
import { defineSettings, parseSettings } from '../../platform/settings.ts';
import { AdminRefusal, idOption, requireAccount, type AdminCommand } from './command.ts';
import { storeLink } from './link-store.ts';

export const shortLinkSettings = defineSettings({
  SHORT_LINK_BASE: setting.url({
    default: '',
    protocols: ['http:', 'https:'],
    doc: 'Public address of the ingest host for short links, without /s/; links of SMS are rewritten to it. Empty: links stay as they are.',
  }),
});

/**
 * `./ravand admin link create`: stores a short link, or finds the one that is stored (ingest 4.7).
 */
export const linkCreate: AdminCommand = {
  group: 'link',
  verb: 'create',
  usage: 'link create --account ID --target URL',
  options: ['account!', 'target!'],
  async run(input, database, { env }) {
    const accountId = idOption(input, 'account');
    const target = input.options['target'] ?? '';
    if (!isShortLinkTarget(target))
      throw new AdminRefusal(
        `--target: expected an http:// or https:// address without spaces, at most ${MAX_TARGET_BYTES} bytes`,
      );
    await requireAccount(database, accountId);
    const { SHORT_LINK_BASE: base } = parseSettings(shortLinkSettings, env);
    const link = { accountId, target, code: shortLinkCode(accountId, target) };
    const stored = await storeLink(database, link);
    if (stored === 'taken')
      throw new AdminRefusal(
        `the code ${link.code} of this target leads elsewhere already, and a stored link never changes: add something that makes no difference, such as ?l=1, to the target`,
      );
    if (stored === 'created')
      await recordAudit(database, {
        accountId,
        actor: 'operator',
        action: 'link.created',
        details: { code: link.code },
      });
    return {
      code: link.code,
      account_id: accountId,
      target,
      created: stored === 'created',
      ...(base === '' ? {} : { url: shortUrl(base, link.code) }),
    };
  },
};

function shortUrl(base: string, code: string): string {
  return `${base.replace(/\/+$/, '')}/s/${code}`;
}
