/** Links stay as they are: a backslash would become a part of their address. */
const LINK_OR_MARK = /https?:\/\/[^\s]+|[*_[\]`\\]/g;

/**
 * A text that Bale shows as it is. Bale reads every text as Markdown, and what came from variables
 * is not known any more when a message is rendered: an underscore in a name would set the rest of
 * the message in italics, and `[text](address)` would hide where a link goes.
 */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(LINK_OR_MARK, (found) => (found.length > 1 ? found : `\\${found}`));
}
