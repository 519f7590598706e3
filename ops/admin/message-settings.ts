import {
  isSettingName,
  SETTING_NAMES,
  settingProblem,
  type SettingTexts,
} from '../../messaging/settings/setting-texts.ts';
import { changeSettings, readSettingTexts } from '../../messaging/settings/settings-store.ts';
import { REQUIRED } from '../../cli/arguments.ts';
import { CommandError } from '../../cli/command.ts';
import { adminCommand, idOption, requireAccount } from './command.ts';

/**
 * `./ravand admin messages settings`: changes what an account decided about its messages, and
 * prints all of it. `account set` takes the same words.
 */
export const messagesSettings = adminCommand({
  name: 'messages settings',
  usage: 'messages settings --account ID [NAME=VALUE…]',
  options: { account: REQUIRED },
  words: { min: 0, max: Number.POSITIVE_INFINITY },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    await requireAccount(database, accountId);
    const changes = parseMessageSettings(line.words);
    const author = { accountId, actor: 'operator' };
    const texts =
      line.words.length === 0
        ? await readSettingTexts(database, accountId)
        : await changeSettings(database, author, changes);
    return { account_id: accountId, settings: shownSettings(texts) };
  },
});

/** Whether a word sets one of these settings. */
export function isMessageSetting(word: string): boolean {
  return isSettingName(word.split('=', 1)[0] ?? '');
}

/** Reads `NAME=VALUE` words; an empty value is the default. Throws CommandError. */
export function parseMessageSettings(words: readonly string[]): SettingTexts {
  const changes = words.map((word) => {
    const [name = '', ...rest] = word.split('=');
    if (!isSettingName(name))
      throw new CommandError(`unknown setting ${name}: there are ${SETTING_NAMES.join(', ')}`);
    if (rest.length === 0) throw new CommandError(`${name}: write it as ${name}=VALUE`);
    const text = rest.join('=').trim();
    const problem = settingProblem(name, text);
    if (problem !== undefined) throw new CommandError(problem);
    return [name, text] as const;
  });
  return Object.fromEntries(changes);
}

/** Null: the default. */
export function shownSettings(texts: SettingTexts): Record<string, string | null> {
  return Object.fromEntries(SETTING_NAMES.map((name) => [name, texts[name] || null]));
}
