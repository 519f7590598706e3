import { isShortLinkTarget, MAX_TARGET_BYTES, shortLinkCode } from '../../events/short-link.ts';
import { shortLinkSettings } from '../../messaging/links/short-link-settings.ts';
import { storeLinks } from '../../messaging/links/short-link-store.ts';
import { recordAudit } from '../../platform/audit.ts';
import { parseSettings } from '../../platform/settings.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, requireAccount } from './command.ts';

/**
 * `./ravand admin link create`: stores a short link, or finds the one that is stored (ingest 4.7).
 */
export const linkCreate = adminCommand({
  name: 'link create',
  usage: 'link create --account ID --target URL',
  options: { account: REQUIRED, target: REQUIRED },
  async run(line, { database, env }) {
    const accountId = idOption(line.values, 'account');
    const { target } = line.values;
    if (!isShortLinkTarget(target))
      throw new CommandError(
        `--target: expected an http:// or https:// address without spaces, at most ${MAX_TARGET_BYTES} bytes`,
      );
    await requireAccount(database, accountId);
    const { SHORT_LINK_BASE: base } = parseSettings(shortLinkSettings, env);
    const link = { target, code: shortLinkCode(accountId, target) };
    const [stored] = await storeLinks(database, accountId, [link]);
    if (stored === 'taken')
      throw new CommandError(
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
});

function shortUrl(base: string, code: string): string {
  return `${base.replace(/\/+$/, '')}/s/${code}`;
}
