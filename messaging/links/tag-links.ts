import type { Channel } from '../../events/channels/channel-change.ts';
import { textLinks } from '../../events/text-links.ts';
import { attributeText } from '../html/attribute-text.ts';
import { htmlTags } from '../html/html-tags.ts';
import type { RenderedContent } from '../providers/provider.ts';
import { applyEdits, tagUrl, type Edit, type LinkTags } from './tag-url.ts';

/**
 * Gives every http and https link of a message its message id and the utm parameters of the
 * campaign, on all channels alike: in the text, in the HTML, and the address that a click opens.
 * Other addresses (mailto:, tel:, in-page anchors, apps) and our own /e/ pages stay as they are.
 */
export function tagLinks(
  content: RenderedContent,
  tags: LinkTags & { channel: Channel },
): RenderedContent {
  const { text, html, url } = content;
  return {
    ...content,
    text: tagText(text, tags),
    html: tagHtml(html, tags),
    url: applyEdits(url, tagUrl(url, tags)),
  };
}

function tagText(text: string, tags: LinkTags): string {
  const edits = textLinks(text).flatMap(({ start, end, isGlued }): Edit[] => {
    const link = text.slice(start, end);
    const tagged = applyEdits(link, tagUrl(link, tags));
    if (tagged === link) return [];
    // Phones would take a word that follows at once as part of the last parameter.
    return [{ start, end, text: isGlued ? `${tagged} ` : tagged }];
  });
  return applyEdits(text, edits);
}

/** Elements whose href people click; VML has those of Outlook. Others load what href names. */
const CLICKED = /^(?:a|area|v:.+)$/;

function tagHtml(html: string, tags: LinkTags): string {
  if (!/href/i.test(html)) return html;
  const edits: Edit[] = [];
  for (const { name, attributes } of htmlTags(html)) {
    if (!CLICKED.test(name)) continue;
    const href = attributes.find((attribute) => attribute.name === 'href');
    if (!href) continue;
    const { valueStart, valueEnd } = href;
    const { text, offsets } = attributeText(html.slice(valueStart, valueEnd));
    for (const edit of tagUrl(text, tags))
      edits.push({
        start: valueStart + (offsets[edit.start] ?? 0),
        end: valueStart + (offsets[edit.end] ?? 0),
        text: edit.text.replaceAll('&', '&amp;'),
      });
  }
  return applyEdits(html, edits);
}
