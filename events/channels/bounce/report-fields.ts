/** The fields of a block by name in lower case; of several of one name the first counts. */
export type ReportFields = ReadonlyMap<string, string>;

/** The blocks of fields of a machine-readable report (RFC 3464, 2.1; RFC 5965, 3). */
export function fieldBlocks(text: string): ReportFields[] {
  const blocks: Map<string, string>[] = [];
  let block: Map<string, string> | undefined;
  let last = '';
  for (const line of text.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([!-9;-~]+)[ \t]*:(.*)$/.exec(line) ?? [];
    if (line.trim() === '') block = undefined;
    else if (block && /^[ \t]/.test(line))
      block.set(last, `${block.get(last) ?? ''} ${line.trim()}`);
    else if (name !== '') {
      if (!block) blocks.push((block = new Map<string, string>()));
      last = name.toLowerCase();
      // A repeated field keeps its continuation lines to itself.
      if (block.has(last)) last = `${last} again`;
      block.set(last, value.trim());
    }
  }
  return blocks;
}

/**
 * The address in `rfc822; user@example.com`, in lower case; empty when there is none. The type
 * `utf-8` is that of RFC 6533; `+3D` is an escape of RFC 3461.
 */
export function reportedAddress(value: string | undefined): string {
  const address = (value ?? '').replace(/^[^;@]*;/, '').trim();
  return bareAddress(address.replace(/\+([0-9A-F]{2})/g, unescaped));
}

/** An address without what surrounds it, in lower case. */
export function bareAddress(text: string): string {
  const [, inside = text] = /<([^<>]*)>/.exec(text) ?? [];
  return inside.trim().toLowerCase();
}

/** Escaped are `+`, `=` and what is not printable: `+25` in an address may as well be a tag. */
function unescaped(escape: string, digits: string): string {
  const code = parseInt(digits, 16);
  return digits === '2B' || digits === '3D' || code < 0x21 || code > 0x7e
    ? String.fromCharCode(code)
    : escape;
}
